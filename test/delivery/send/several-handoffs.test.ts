/** `agent.handoffMany()`: several handoffs in one operation, all or none. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { systemClock } from "../../../src/base/clock.ts";
import {
  type Agent,
  type DraftOf,
  type Hub,
  type HubOptions,
  LocalHub,
} from "../../../src/index.ts";
import type { Store } from "../../../src/store/store.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openReferenceStore } from "../../../store-contract/reference/open.ts";
import { contents, openFresh, openTwo, refusal, STORES, take } from "../../support/hub/support.ts";

describe.each(STORES)("several handoffs on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    return { hub, ...(await agentsOf(hub)) };
  }

  const agentsOf = async (hub: Hub) => ({
    planner: await hub.agent("planner", {}),
    coder: await hub.agent("coder", { role: "coder" }),
    critic: await hub.agent("critic", {}),
  });

  const aboutTask = (task: string, more: object = {}): DraftOf<object> => ({
    ...{ to: "coder", task, intent: `Build ${task}` },
    ...more,
  });

  const tasksOf = async (agent: Agent): Promise<string[]> => {
    const { items } = await agent.deliveries.waiting();
    return items.map(({ delivery }) => delivery.task);
  };

  it("are sent together and arrive in their order [DLV-1 DLV-20]", async () => {
    const { hub, planner, coder } = await team();
    const tasks = ["one", "two", "three", "four", "five"];
    const sent = await planner.handoffMany(tasks.map((task) => aboutTask(task)));
    expect(sent.map(({ envelope }) => envelope.task)).toEqual(tasks);
    expect(await tasksOf(coder)).toEqual(tasks);
    for (const task of tasks) {
      const work = await take(coder);
      expect(work.envelope.intent).toBe(`Build ${task}`);
      await work.complete({ summary: `Built ${task}` });
    }
    const [first] = sent;
    expect(await first?.completed()).toMatchObject({ kind: "completed" });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("can go to agents, a role and a channel [DLV-3 DLV-20]", async () => {
    const { hub, planner, coder, critic } = await team();
    await hub.channels.set("news");
    for (const agent of [coder, critic]) await agent.channels.subscribe("news");
    const sent = await planner.handoffMany([
      aboutTask("one"),
      { to: "role:coder", task: "two", intent: "Review" },
      { to: { kind: "channel", channel: "news" }, task: "three", intent: "Read this" },
      { to: { kind: "channel", channel: "news" }, task: "four", intent: "And this" },
    ]);
    expect(sent.map(({ receivers }) => receivers.toSorted())).toEqual([
      ["coder"],
      ["role:coder"],
      ["coder", "critic"],
      ["coder", "critic"],
    ]);
    expect(await tasksOf(critic)).toEqual(["three", "four"]);
  });

  it("of one task build on each other's ledger [ENV-10 DLV-20]", async () => {
    const { hub, planner, coder, critic } = await team();
    await planner.handoff({ to: "planner", task: "auth", intent: "Plan auth", constraints: ["A"] });
    const must = (rule: string) => ({ constraints: [rule] });
    await planner.handoffMany([
      aboutTask("auth", must("B")),
      aboutTask("auth", { to: "critic", ...must("C") }),
    ]);
    const rulesOf = async (agent: Agent) =>
      (await take(agent)).envelope.constraints.map(({ rule }) => rule).toSorted();
    expect(await rulesOf(coder)).toEqual(["A", "B"]);
    expect(await rulesOf(critic)).toEqual(["A", "B", "C"]);
    const ledger = await hub.tasks.ledger("auth");
    expect(ledger?.constraints.map(({ rule }) => rule).toSorted()).toEqual(["A", "B", "C"]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("are none of them sent if one is refused; the error names its draft [DLV-1 DLV-20]", async () => {
    const { hub, planner, coder } = await team();
    await planner.handoff(aboutTask("shut"));
    await (await take(coder)).complete();
    await planner.tasks.close("shut", { reason: "It is done." });
    await hub.payloadTypes.define("patch", z.object({ lines: z.number() }));
    const bad: [string, string, object][] = [
      ["unknown_agent", "drafts[1].to", aboutTask("two", { to: "nobody" })],
      ["invalid_envelope", "drafts[1].intent", { to: "coder", intent: "" }],
      ["task_closed", "drafts[1].task", aboutTask("shut")],
      [
        "invalid_payload",
        "drafts[1].payload.data.lines",
        aboutTask("two", { payload: { type: "patch", data: { lines: "many" } } }),
      ],
    ];
    const before = await contents(hub);
    for (const [code, path, draft] of bad) {
      const drafts = [aboutTask("one"), draft, aboutTask("three")] as DraftOf<object>[];
      const refused = await refusal(planner.handoffMany(drafts));
      expect(refused).toMatchObject({ code, path });
      expect(refused.message).toMatch(/^drafts\[1\]: /);
      for (const each of refused.violations) expect(each.message).toContain("drafts[1].");
    }
    expect(await contents(hub)).toEqual(before);
  });

  it("must differ in receiver or task, and in their keys [DLV-20]", async () => {
    const { hub, planner } = await team();
    const before = await contents(hub);
    const twice = [aboutTask("one"), aboutTask("two"), aboutTask("one")];
    expect(await refusal(planner.handoffMany(twice))).toMatchObject({
      code: "invalid_input",
      path: "drafts[2]",
      details: { receiver: "coder", task: "one" },
    });
    const sameKey = [aboutTask("one", { key: "k" }), aboutTask("two", { key: "k" })];
    expect(await refusal(planner.handoffMany(sameKey))).toMatchObject({
      code: "invalid_input",
      path: "drafts[1].key",
    });
    expect(await contents(hub)).toEqual(before);
  });

  it("are at least one, and at most the limit [DLV-20]", async () => {
    const { hub, planner } = await team({ limits: { handoffBatch: 2 } });
    const before = await contents(hub);
    expect(await refusal(planner.handoffMany([]))).toMatchObject({ path: "drafts" });
    expect(await refusal(planner.handoffMany("one" as never))).toMatchObject({ path: "drafts" });
    const three = ["one", "two", "three"].map((task) => aboutTask(task));
    expect(await refusal(planner.handoffMany(three))).toMatchObject({
      code: "limit_exceeded",
      path: "drafts",
      details: { limit: "handoffBatch", max: 2, actual: 3 },
    });
    expect(await contents(hub)).toEqual(before);
    expect(await planner.handoffMany(three.slice(1))).toHaveLength(2);
  });

  it("count against the limit of an inbox together [DLV-13 DLV-20]", async () => {
    const { hub, planner, coder } = await team({ limits: { inbox: 3 } });
    await planner.handoff(aboutTask("zero"));
    const before = await contents(hub);
    const three = ["one", "two", "three"].map((task) => aboutTask(task));
    const refused = await refusal(planner.handoffMany(three));
    expect(refused).toMatchObject({
      code: "inbox_full",
      path: "drafts[0].to",
      message: 'The inbox of "coder" has 1 open handoffs of at most 3, and 3 more do not fit.',
      details: { receiver: "coder", max: 3 },
    });
    const four = [aboutTask("four"), ...three];
    expect(await refusal(planner.handoffMany(four))).toMatchObject({
      code: "limit_exceeded",
      path: "drafts[0].to",
      details: { limit: "inbox", max: 3, actual: 4 },
    });
    expect(await contents(hub)).toEqual(before);
    await planner.handoffMany(three.slice(1));
    expect(await tasksOf(coder)).toEqual(["zero", "two", "three"]);
  });

  it("have at most as many receivers together as one handoff may have [DLV-3 DLV-20]", async () => {
    const { hub, planner, coder, critic } = await team({ limits: { receivers: 3 } });
    await hub.channels.set("news");
    for (const agent of [coder, critic]) await agent.channels.subscribe("news");
    const before = await contents(hub);
    const drafts = ["one", "two"].map((task) => ({
      ...{ to: { kind: "channel" as const, channel: "news" }, task, intent: "Read this" },
    }));
    expect(await refusal(planner.handoffMany(drafts))).toMatchObject({
      code: "limit_exceeded",
      path: "drafts",
      details: { limit: "receivers", max: 3, actual: 4 },
    });
    expect(await contents(hub)).toEqual(before);
  });

  it("do not exceed an inbox's limit beside single ones [DLV-13 DLV-20]", async () => {
    const { planner, coder } = await team({ limits: { inbox: 10 } });
    const sizes = [4, 1, 1, 9, 1, 3, 1, 1, 7, 1, 1, 2];
    const outcomes = await Promise.allSettled(
      sizes.map((size, n) => {
        const drafts = Array.from({ length: size }, (_, i) => aboutTask(`${n}-${i}`));
        return size === 1 ? planner.handoff(drafts[0] as never) : planner.handoffMany(drafts);
      }),
    );
    const sent = sizes.filter((_, n) => outcomes[n]?.status === "fulfilled");
    const open = (await tasksOf(coder)).length;
    expect(open).toBe(sent.reduce((sum, size) => sum + size, 0));
    expect(open).toBeLessThanOrEqual(10);
    expect(open).toBeGreaterThan(0);
  });

  it("to a receiver that may be probed are one probe [DLV-8 DLV-20]", async () => {
    const clock = new VirtualClock();
    const limits = { breakerStrikes: 1, breakerMs: 60_000 };
    const { hub, planner, coder } = await team({ clock, limits });
    await planner.handoff(aboutTask("lost", { policy: { attempts: 1 } }));
    await (await take(coder)).fail({ message: "No" });
    const drafts = ["one", "two", "three"].map((task) => aboutTask(task));
    expect(await refusal(planner.handoffMany(drafts))).toMatchObject({
      code: "circuit_open",
      path: "drafts[0].to",
    });
    clock.advance(60_000);
    expect(await planner.handoffMany(drafts)).toHaveLength(3);
    expect(await tasksOf(coder)).toEqual(["one", "two", "three"]);
    expect(await hub.agents.breakers()).toMatchObject([{ state: "half-open" }]);
  });

  it("with one long intent share its brief [ENV-10 DLV-20]", async () => {
    const { hub, planner, coder, critic } = await team();
    const intent = "Rebuild the sign-in flow step by step. ".repeat(300);
    const drafts = ["coder", "critic"].map((to) => ({ to, task: "auth", intent }));
    await planner.handoffMany(drafts);
    const briefs = await planner.memories.recent({ task: "auth", type: "brief" });
    expect(briefs.items.map(({ content }) => content)).toEqual([intent]);
    const ids = [coder, critic].map(async (agent) => (await take(agent)).envelope.brief);
    expect(new Set(await Promise.all(ids))).toEqual(new Set([briefs.items[0]?.id]));
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("do not exceed the limits of their inboxes when sent concurrently [DLV-13 DLV-20]", async () => {
    const { planner, coder, critic } = await team({ limits: { inbox: 5 } });
    const batches = Array.from({ length: 8 }, (_, n) => {
      const pair = [aboutTask(`c${n}`), aboutTask(`r${n}`, { to: "critic" })];
      return planner.handoffMany(n % 2 === 0 ? pair : pair.reverse());
    });
    const outcomes = await Promise.allSettled(batches);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    expect((await tasksOf(coder)).sort()).toHaveLength(5);
    expect((await tasksOf(critic)).sort()).toHaveLength(5);
  });

  it("extend open work, and report the earlier work that they repeat [DLV-2 DLV-20 DLV-22]", async () => {
    const { planner, coder, critic } = await team();
    await critic.handoff(aboutTask("zero", { intent: "Build the client", next: ["Step 1"] }));
    await (await take(coder)).complete();
    const tasks = ["one", "two", "three"];
    const earlier = await planner.handoffMany(tasks.map((task) => aboutTask(task)));
    const [again, ...others] = await planner.handoffMany([
      aboutTask("four", { intent: "Build the client", next: ["Step 1"] }),
      ...tasks.map((task) => aboutTask(task, { next: ["Step 2"] })),
    ]);
    expect(again).toMatchObject({ joined: "new", repeats: [{ task: "zero", why: "work" }] });
    expect(others.map(({ joined }) => joined)).toEqual(["superseded", "superseded", "superseded"]);
    expect(others.map(({ envelope }) => envelope.parents)).toEqual(
      earlier.map(({ envelope }) => [envelope.id]),
    );
    expect((await tasksOf(coder)).toSorted()).toEqual(["four", "one", "three", "two"]);
  });

  it("with keys are sent once, however often the call is repeated [DLV-9 DLV-20]", async () => {
    const { hub, planner } = await team();
    const drafts = ["one", "two"].map((task) => aboutTask(task, { key: `key-${task}` }));
    const first = await planner.handoffMany(drafts);
    const before = await contents(hub);
    const again = await planner.handoffMany(drafts);
    expect(again.map(({ id, joined }) => [id, joined])).toEqual(
      first.map(({ id }) => [id, "repeated"]),
    );
    expect(await contents(hub)).toEqual(before);
    const more = await planner.handoffMany([...drafts, aboutTask("three", { key: "key-three" })]);
    expect(more.map(({ joined }) => joined)).toEqual(["repeated", "repeated", "new"]);
  });

  it("mask secrets in each draft [MEM-19 DLV-20]", async () => {
    const { planner, coder } = await team();
    const secret = `ghp_${"aB3dE6gH9kL2nP5rT8vX1zC4fJ7mQ0sW3yU6"}`;
    const [clean, masked] = await planner.handoffMany([
      aboutTask("one"),
      aboutTask("two", { next: [`Use ${secret}`] }),
    ]);
    expect(clean?.secrets).toEqual([]);
    expect(masked?.secrets).toMatchObject([{ path: expect.stringContaining("next") }]);
    await (await take(coder)).complete();
    expect(JSON.stringify((await take(coder)).envelope)).not.toContain(secret);
  });

  it("of two hubs about one task all arrive, with every rule on its ledger [ENV-10 DLV-20]", async () => {
    const [here, there] = await openTwo(store);
    const { planner } = await agentsOf(here);
    const other = await there.agent("planner-2", {});
    const names = Array.from({ length: 6 }, (_, n) => `worker-${n}`);
    for (const name of names) await here.agent(name, {});
    const draftFor = (to: string, rule: string) => ({
      ...{ to, task: "shared", intent: "Build shared", constraints: [rule] },
    });
    await Promise.all([
      planner.handoffMany(names.slice(0, 3).map((to) => draftFor(to, `rule of ${to}`))),
      other.handoffMany(names.slice(3).map((to) => draftFor(to, `rule of ${to}`))),
    ]);
    const rules = (await here.tasks.ledger("shared"))?.constraints.map(({ rule }) => rule);
    expect(rules?.toSorted()).toEqual(names.map((to) => `rule of ${to}`));
    expect((await here.verify()).problems).toEqual([]);
  });
});

describe("an inbox that gets tight", () => {
  it("is counted for a batch before anything smaller passes [DLV-13 DLV-20]", async () => {
    const counting = Promise.withResolvers<void>();
    const counted = Promise.withResolvers<void>();
    let counts = 0;
    const store = openReferenceStore({ clock: systemClock });
    const count = store.countOpen.bind(store);
    const countSlowly: Store["countOpen"] = async (...which) => {
      const open = count(...which);
      if (counts++ > 0) counting.resolve();
      if (counts > 1) await counted.promise;
      return open;
    };
    Object.assign(store, { countOpen: countSlowly });
    await using hub = new LocalHub(store, { limits: { inbox: 10 } });
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    const about = (task: string) => ({ to: "coder", task, intent: "Go" });
    await planner.handoff(about("first")); // Counts, and leaves ample capacity for single ones.
    const nine = Array.from({ length: 9 }, (_, n) => about(`batch ${n}`));
    const batch = planner.handoffMany(nine);
    await counting.promise;
    const singles = nine.slice(0, 5).map((_, n) => planner.handoff(about(`single ${n}`)));
    const outcomes = Promise.allSettled(singles);
    await Promise.race([outcomes, sleep(50)]); // By the old count they would pass here.
    counted.resolve();
    expect(await batch).toHaveLength(9);
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "inbox_full" } });
    }
    expect((await coder.deliveries.waiting()).items).toHaveLength(10);
  });
});
