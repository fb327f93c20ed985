/** Minimal regression tests for bugs that random teams found. */
import { describe, expect, it } from "vitest";
import { type HubOptions, LocalHub } from "../../src/index.ts";
import { isOpen } from "../../src/store/rows.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { dyingAfter, sharedStore } from "../support/hub/shared-store.ts";
import { EMBEDDED_STORES, refusal, type StoreName, take } from "../support/hub/support.ts";

const HOUR = 3_600_000;

async function open(store: StoreName) {
  const clock = new VirtualClock(Date.now());
  const processes = { self: "", isGone: () => false };
  const options: HubOptions = { clock, processes, embedder: false };
  const reopen = sharedStore(store, options);
  const hub = new LocalHub(await reopen(), options);
  const owner = await hub.agent("olga", { role: "owner" });
  const coder = await hub.agent("ada", { role: "coder" });
  return { clock, hub, owner, coder, options, reopen };
}

describe.each(EMBEDDED_STORES)("regressions found by random teams on %s", (store) => {
  it("asks a person who never answers only once, then decides without them [CRD-4]", async () => {
    const { clock, hub, owner, coder } = await open(store);
    await hub.agent("pia", { kind: "person" });
    await hub.failures.setRule("people first", { then: { ask: "pia" } });
    await owner.tasks.add({ task: "api", to: "ada", intent: "Build it." });
    await (await take(coder)).fail({ type: "missing", class: "permanent", message: "Not there." });
    for (let day = 0; day < 4; day++) {
      clock.advance(25 * HOUR);
      await hub.deliveries.runDue();
    }
    const [failure] = (await hub.failures.list({ task: "api" })).items;
    expect(failure?.decision).toMatchObject({ by: "baton", decision: "abort" });
    expect(await hub.tasks.get("api")).toMatchObject({ state: "failed" });
    const memories = (await hub.memories.recent({ task: "api", type: "decision" })).items;
    expect(memories.filter(({ data }) => data?.["decision"] === "ask")).toHaveLength(1);
  });

  it("decides again when a retried handoff expires again [CRD-3 CRD-4]", async () => {
    const { clock, hub, owner } = await open(store);
    await owner.tasks.add({ task: "api", to: "ada", intent: "Build it.", deadlineMs: HOUR });
    for (let n = 0; n < 10; n++) {
      clock.advance(2 * HOUR);
      await hub.deliveries.runDue();
    }
    expect(await hub.tasks.get("api")).toMatchObject({ state: "failed" });
    const decided = (await hub.failures.list({ task: "api" })).items.map(
      ({ decision }) => decision,
    );
    expect(decided.map((each) => each?.decision)).toEqual(["retry", "abort"]);
  });

  it("does not retry a task that is being cancelled [CRD-3]", async () => {
    const { hub, owner, coder, options, reopen } = await open(store);
    await owner.tasks.add({ task: "api", to: "ada", intent: "Build it." });
    const kim = await hub.agent("kim", { role: "coordinator" });
    await (await take(coder)).fail({ type: "missing", class: "permanent", message: "Not there." });
    const [failure] = (await hub.failures.list({ undecided: true })).items;
    const dying = new LocalHub(dyingAfter("putEntry", await reopen()), options);
    const cancelling = (await dying.agent("olga")).tasks.cancel("api", "Not needed.");
    expect(await refusal(cancelling)).toMatchObject({ code: "store_closed" });
    const decision = { decision: "retry", reason: "Once more." } as const;
    const answer = await kim.failures.decide(failure?.report ?? "", decision);
    expect(["already", "settled"]).toContain(answer.kind);
    expect(await hub.tasks.get("api")).toMatchObject({ state: "cancelled" });
    const deliveries = (await hub.tasks.line("api")).flatMap((step) => step.deliveries);
    expect(deliveries.filter(({ state }) => isOpen(state))).toEqual([]);
  });

  it("adds a task once if it is added concurrently with the same key [CRD-2]", async () => {
    const { hub, owner, options, reopen } = await open(store);
    const other = await new LocalHub(await reopen(), options).agent("olga");
    for (let n = 0; n < 20; n++) {
      const draft = { task: `task-${n}`, to: "ada", intent: "Build it.", key: `add ${n}` };
      const added = await Promise.all([owner.tasks.add(draft), other.tasks.add(draft)]);
      expect(new Set(added.map(({ sent }) => sent.id)).size).toBe(1);
    }
    expect((await hub.deliveries.totals()).deliveries).toBe(20);
  });
});
