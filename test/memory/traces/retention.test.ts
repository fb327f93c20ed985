/** Tests retention: what the rules prune, what stays, and that verify finds other deletions. */

import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type Agent,
  DEFAULT_LIMITS,
  type Hub,
  LocalHub,
  type Memory,
  openHub,
} from "../../../src/index.ts";
import { writeRecord } from "../../../src/memory/record.ts";
import type { PruneOptions } from "../../../src/memory/traces/prune.ts";
import type { RetentionRules } from "../../../src/memory/traces/retention.ts";
import { PRUNING_BRANCH } from "../../../src/store/pruning.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { publicVisibility } from "../../../src/store/visibility.ts";
import { seededIds, VirtualClock } from "../../../src/testing/index.ts";
import { dyingAfter, hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import {
  breakIn,
  freshAddress,
  open,
  openFresh,
  refusal,
  STORES,
} from "../../support/hub/support.ts";
import { testSchema } from "../../support/postgres/schema.ts";

const DAY_MS = 24 * 3_600_000;

async function traced(agent: Agent, steps: number): Promise<Memory[]> {
  const numbers = Array.from({ length: steps }, (_, i) => i + 1);
  return agent.trace(numbers.map((i) => ({ kind: "tool", name: `${agent.instance}-${i}` })));
}

describe.each(STORES)("retention on %s", (store) => {
  /** Writes a trace and a memory a day on three days, each day in a new session. */
  async function threeDays(rules: RetentionRules = {}) {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock });
    const agents: Agent[] = [];
    const steps: Memory[][] = [];
    for (const instance of ["one", "two", "three"]) {
      const agent = await hub.agent("ada", {}, { instance });
      agents.push(agent);
      steps.push(await traced(agent, 3));
      await agent.remember({ content: `Known from day ${instance}.` });
      clock.advance(DAY_MS);
    }
    await hub.settings.update({ retention: rules });
    return { hub, clock, agents, steps, ada: agents[0] as Agent };
  }

  const sessions = async (hub: Hub) =>
    Object.fromEntries(
      (await hub.traces.sessions()).items.map(({ session, steps }) => [session, steps]),
    );

  /** Returns the pruning records, newest first. */
  const prunings = (shared: Store, { workspace }: Hub) =>
    shared.recentMemories({
      workspace,
      sight: publicVisibility(PRUNING_BRANCH),
      filter: {},
      limit: 10,
    });

  it("prunes nothing without rules [MEM-18]", async () => {
    const { hub } = await threeDays();
    expect((await hub.settings.get()).retention).toEqual({});
    expect(await hub.memories.prune()).toEqual({
      ...{ rules: {}, dryRun: false, sessions: [], steps: 0, events: 0, bytes: 0 },
    });
    expect(await sessions(hub)).toEqual({ one: 3, two: 3, three: 3 });
  });

  it("lists a fully pruned session with its end time only [MEM-18]", async () => {
    const { hub, clock } = await threeDays({ traces: { sessions: 2 } });
    await hub.memories.prune();
    const { items } = await hub.traces.sessions();
    const until = clock.now() - 3 * DAY_MS;
    expect(items.at(-1)).toEqual({ session: "one", steps: 0, pruned: 3, until });
    expect(items[0]).toMatchObject({ session: "three", agent: "ada", from: until + 2 * DAY_MS });
  });

  it("stores its rules in the workspace for every hub [MEM-18]", async () => {
    const reopen = sharedStore(store);
    const hub = await hubOn(store, await reopen());
    const rules = { traces: { days: 30, sessions: 100 }, events: { days: 0.5, keep: 10 } };
    expect((await hub.settings.update({ retention: rules })).retention).toEqual(rules);
    const other = await hubOn(store, await reopen());
    expect((await other.settings.get()).retention).toEqual(rules);
    await other.settings.update({ retention: { events: { keep: 1 } } });
    expect((await hub.settings.get()).retention).toEqual({ events: { keep: 1 } });
    const elsewhere = await hubOn(store, await reopen(), { workspace: "other" });
    expect((await elsewhere.settings.get()).retention).toEqual({});
  });

  it.each<[unknown, string]>([
    [{ traces: { days: -1 } }, "retention.traces.days"],
    [{ traces: { sessions: 1.5 } }, "retention.traces.sessions"],
    [{ memories: { days: 1 } }, "retention.memories"],
    [{ events: 3 }, "retention.events"],
  ])("refuses invalid rules: %j [MEM-18]", async (rules, path) => {
    const { hub } = await threeDays({ traces: { days: 9 } });
    const error = await refusal(hub.settings.update({ retention: rules as RetentionRules }));
    expect(error).toMatchObject({ code: "invalid_input", path });
    expect((await hub.settings.get()).retention).toEqual({ traces: { days: 9 } });
  });

  it("prunes traces whose last step is too old, and keeps memories [MEM-18]", async () => {
    const { hub, agents, steps } = await threeDays({ traces: { days: 1.5 } });
    await agents[0]?.trace({ kind: "tool", name: "again" });
    const known = (await hub.memories.recent()).items;
    const report = await hub.memories.prune();
    expect(report).toMatchObject({
      sessions: [{ session: "two", steps: 3, kept: false }],
      steps: 3,
      events: 0,
    });
    expect(report.bytes).toBeGreaterThan(3 * 200);
    expect(await sessions(hub)).toEqual({ one: 4, two: 0, three: 3 });
    expect((await refusal(hub.memories.read(steps[1]?.[0]?.id ?? ""))).code).toBe("unknown_memory");
    expect((await hub.memories.recent()).items).toEqual(known);
    expect((await hub.verify()).problems).toEqual([]);
    expect(await hub.memories.prune(), "once is enough").toMatchObject({ sessions: [], steps: 0 });
  });

  it("prunes the least recently active sessions above the limit [MEM-18]", async () => {
    const { hub } = await threeDays({ traces: { sessions: 1 } });
    expect((await hub.memories.prune()).sessions.map(({ session }) => session).sort()).toEqual([
      "one",
      "two",
    ]);
    expect(await sessions(hub)).toEqual({ one: 0, two: 0, three: 3 });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("removes pruned traces from recall [MEM-12 MEM-18]", async () => {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, embedder: false });
    const ada = await hub.agent("ada", {}, { instance: "s" });
    await ada.remember({ content: "The zebra is striped." });
    await ada.trace({ kind: "tool", name: "look", output: "a zebra crossing" });
    const found = async (traces: boolean) =>
      (await hub.recall("zebra", { traces })).items.map(({ memory }) => memory.type).sort();
    expect(await found(false)).toEqual(["fact"]);
    expect(await found(true)).toEqual(["fact", "trace"]);
    await hub.settings.update({ retention: { traces: { days: 0 } } });
    clock.advance(1);
    await hub.memories.prune();
    expect(await found(true)).toEqual(["fact"]);
  });

  it("reports the same in a dry run, and changes nothing [MEM-18]", async () => {
    const { hub, steps, agents } = await threeDays({ traces: { days: 0.5 }, events: { keep: 0 } });
    await agents[1]?.remember({ content: "See.", refs: [steps[1]?.[1]?.id ?? ""] });
    const before = [
      (await hub.traces.list({})).items,
      await hub.verify(),
      (await hub.memories.recent()).items,
    ];
    const dry = await hub.memories.prune({ dryRun: true });
    expect(dry).toMatchObject({ dryRun: true, steps: 7 });
    expect([
      (await hub.traces.list({})).items,
      await hub.verify(),
      (await hub.memories.recent()).items,
    ]).toEqual(before);
    expect(await hub.memories.prune()).toEqual({ ...dry, dryRun: false });
  });

  it("keeps a referenced step and all later ones [MEM-18]", async () => {
    const { hub, ada, steps, agents } = await threeDays({ traces: { days: 0.5 } });
    const [first, second, third] = steps.map((of) => of[1]?.id ?? "") as [string, string, string];
    await hub.agent("ben", {});
    const said = await ada.remember({ content: "As seen.", refs: [first] });
    await ada.handoff({ to: "ben", intent: "Look at it", refs: [second] });
    await agents[2]?.remember({ content: "So.", relations: [{ kind: "derived-from", to: third }] });
    const { sessions: pruned, steps: gone } = await hub.memories.prune();
    expect(pruned.every(({ kept, steps: n }) => kept && n === 1)).toBe(true);
    expect(gone).toBe(3);
    expect(await sessions(hub)).toEqual({ one: 2, two: 2, three: 2 });
    for (const id of [first, second, third])
      expect((await hub.memories.read(id)).type).toBe("trace");
    expect((await hub.verify()).problems).toEqual([]);
    expect((await hub.memories.read(said.id)).refs).toEqual([first]);
    expect(await hub.memories.prune()).toMatchObject({ steps: 0 });
  });

  it("lets a session continue its trace after pruning, and prunes it again [MEM-18]", async () => {
    const { hub, clock, ada } = await threeDays({ traces: { days: 0.5 } });
    await hub.memories.prune();
    for (let round = 0; round < 3; round++) {
      const [step] = await ada.trace([{ kind: "tool" }]);
      expect(step?.seq).toBe(4 + round);
      expect((await hub.verify()).problems).toEqual([]);
      clock.advance(DAY_MS);
      expect(await hub.memories.prune()).toMatchObject({ steps: 1 });
      expect((await hub.verify()).problems).toEqual([]);
    }
  });

  it("prunes in batches, reports progress, and allows writes in between [MEM-18]", async () => {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const other = await hubOn(store, await reopen(), { clock });
    const ada = await other.agent("ada", {}, { instance: "long" });
    await traced(ada, 900);
    const sliced = new Proxy(await reopen(), {
      get(target, name: keyof Store) {
        const value = target[name];
        if (typeof value !== "function") return value;
        if (name !== "pruneTrace") return value.bind(target);
        return async (...given: Parameters<Store["pruneTrace"]>) => {
          await ada.remember({ content: "Meanwhile." });
          return target.pruneTrace(...given);
        };
      },
    });
    const hub = await hubOn(store, sliced, { clock });
    await hub.settings.update({ retention: { traces: { days: 0.5 } } });
    clock.advance(DAY_MS);
    const progress: number[] = [];
    const onProgress: PruneOptions["onProgress"] = ({ done, total }) => progress.push(done, total);
    expect(await hub.memories.prune({ onProgress })).toMatchObject({ steps: 900 });
    expect(progress).toEqual([200, 900, 400, 900, 600, 900, 800, 900, 900, 900]);
    const { length } = (await hub.memories.recent()).items;
    expect(length, "one before each slice").toBeGreaterThanOrEqual(progress.length / 2);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("leaves a valid store when interrupted, and finishes on the next run [MEM-18]", async () => {
    const clock = new VirtualClock();
    for (const operation of ["appendMemories", "pruneTrace"] as const) {
      const reopen = sharedStore(store, { clock });
      const hub = await hubOn(store, await reopen(), { clock });
      const ada = await hub.agent("ada", {}, { instance: "cut" });
      await traced(ada, 500);
      await hub.settings.update({ retention: { traces: { days: 0.5 } } });
      await hub.memories.prune(); // Prunes nothing yet; the next run registers the hub's agent.
      clock.advance(DAY_MS);
      const dying = new LocalHub(dyingAfter(operation, await reopen()), { clock });
      expect((await refusal(dying.memories.prune())).code).toBe("store_closed");
      expect((await hub.verify()).problems, operation).toEqual([]);
      const left = (await sessions(hub))["cut"] as number;
      expect(left).toBe(operation === "pruneTrace" ? 300 : 500);
      expect(await hub.memories.prune()).toMatchObject({ steps: left });
      expect((await hub.verify()).problems, operation).toEqual([]);
    }
  });

  it("records on a hidden chain who pruned what, and up to where [MEM-18]", async () => {
    const clock = new VirtualClock();
    const shared = await sharedStore(store, { clock })();
    const hub = await hubOn(store, shared, { clock });
    const pat = await hub.agent("pat", { kind: "person" }, { instance: "s" });
    const last = (await traced(pat, 3)).at(-1);
    await hub.settings.update({ retention: { traces: { days: 0 } } });
    clock.advance(1);
    await pat.memories.prune();
    const [row, ...others] = await prunings(shared, hub);
    expect(others).toEqual([]);
    expect(row?.storedAt).toBe(clock.now());
    expect(JSON.parse(row?.text ?? "")).toMatchObject({
      agent: "pat",
      instance: "s",
      type: "pruning",
      data: {
        by: "pat",
        traces: [{ branch: "trace/s", seq: 3, storedAt: last?.storedAt, link: last?.link }],
      },
    });
    expect((await pat.memories.recent()).items).toEqual([]);
    expect((await hub.traces.list()).items).toEqual([]);
  });

  it("is run by the hub or by an agent that proves its identity [MEM-4 MEM-18]", async () => {
    const clock = new VirtualClock();
    const shared = await sharedStore(store, { clock })();
    const hub = new LocalHub(shared, { clock });
    const { privateKey } = generateKeyPairSync("ed25519");
    const keyed = await hub.agent("kim", { key: privateKey }, { instance: "one" });
    await traced(keyed, 2);
    await hub.settings.update({ retention: { traces: { days: 0 }, events: { days: 0 } } });
    clock.advance(1);
    const inTheNameOf = { by: "kim" } as PruneOptions;
    expect(await refusal(hub.memories.prune(inTheNameOf))).toMatchObject({
      ...{ code: "invalid_input", path: "by" },
    });
    const stranger = await hub.agent("kim");
    expect((await refusal(stranger.memories.prune())).code).toBe("identity_mismatch");
    expect(await sessions(hub), "nothing is gone").toEqual({ one: 2 });
    expect(await keyed.memories.prune()).toMatchObject({ steps: 2 });
    const [row] = await prunings(shared, hub);
    expect(row?.signature).not.toBe("");
    expect(JSON.parse(row?.text ?? "")).toMatchObject({ agent: "kim", data: { by: "kim" } });
    await traced(await hub.agent("ben", {}, { instance: "two" }), 1);
    clock.advance(1);
    expect(await hub.memories.prune()).toMatchObject({ steps: 1 });
    const [own] = await prunings(shared, hub);
    expect(JSON.parse(own?.text ?? "")).toMatchObject({ agent: "baton", data: { by: "baton" } });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it.each(["traces", "events"] as const)(
    "refuses to prune %s for a disabled agent, but allows a dry run [MEM-4 MEM-18]",
    async (what) => {
      const { hub, clock, ada } = await threeDays({ [what]: { days: 0 } });
      const ben = await hub.agent("ben", {});
      for (const task of ["a", "b"]) await ben.handoff({ to: "ada", task, intent: "Do it" });
      await hub.agent("ada", { status: "disabled" });
      clock.advance(1);
      const events = (await hub.events.list()).items;
      const { steps, events: due } = await ada.memories.prune({ dryRun: true });
      expect(steps + due).toBeGreaterThan(0);
      expect((await refusal(ada.memories.prune())).code).toBe("agent_disabled");
      expect(await sessions(hub)).toEqual({ one: 3, two: 3, three: 3 });
      expect((await hub.events.list()).items).toEqual(events);
    },
  );

  it("prunes old events, and cursors over them stay valid [MEM-18]", async () => {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock });
    const ada = await hub.agent("ada", {});
    await hub.agent("ben", {});
    for (let day = 0; day < 4; day++) {
      await ada.handoff({ to: "ben", task: `t${day}`, intent: "Go" });
      clock.advance(DAY_MS);
    }
    const all = (await hub.events.list()).items;
    const cursor = all[0]?.number ?? 0;
    await hub.settings.update({ retention: { events: { days: 2.5 } } });
    expect(await hub.memories.prune()).toMatchObject({ events: 2, steps: 0, bytes: 0 });
    expect((await hub.events.list({ after: cursor })).items).toEqual(all.slice(2));
    await hub.settings.update({ retention: { events: { keep: 1 } } });
    expect(await hub.memories.prune()).toMatchObject({ events: 1 });
    expect((await hub.events.list()).items).toEqual(all.slice(3));
    await hub.settings.update({ retention: { events: { days: 0 } } });
    clock.advance(DAY_MS);
    expect(await hub.memories.prune(), "the newest stays").toMatchObject({ events: 0 });
    await ada.handoff({ to: "ben", task: "t5", intent: "Go" });
    const after = (await hub.events.list({ after: all.at(-1)?.number })).items;
    expect(after).toMatchObject([{ kind: "sent", task: "t5" }]);
    expect((await hub.verify()).problems).toEqual([]);
    expect(await hub.tasks.line("t0"), "what was handed over is not an event").toHaveLength(1);
  });
});

describe("a store with pruned traces", () => {
  interface PrunedStore {
    readonly hub: Hub;
    readonly address: string;
    readonly steps: readonly Memory[];
    change(sql: string): Promise<void>;
    /** Returns the column `n` of a query on the SQLite file. */
    rows(sql: string): number;
  }

  /** Writes three traces; prunes half of the first and all of the second. */
  async function pruned(store: "sqlite" | "postgres"): Promise<PrunedStore> {
    const clock = new VirtualClock();
    const schema = store === "postgres" ? testSchema() : undefined;
    if (schema) onTestFinished(() => schema[Symbol.asyncDispose]());
    const address = schema?.address ?? freshAddress("sqlite");
    const hub = await open(address, { clock });
    const ada = await hub.agent("ada", {}, { instance: "old" });
    const steps = await traced(ada, 6);
    await ada.remember({ content: "See.", refs: [steps[3]?.id ?? ""] });
    await traced(await hub.agent("ada", {}, { instance: "gone" }), 2);
    clock.advance(DAY_MS);
    await traced(await hub.agent("ada", {}, { instance: "new" }), 3);
    await hub.settings.update({ retention: { traces: { days: 0.5 } } });
    expect(await hub.memories.prune()).toMatchObject({ steps: 5 });
    expect((await hub.verify()).problems).toEqual([]);
    const change = async (sql: string) => {
      if (schema !== undefined) await schema.query(`set search_path = ${schema.schema}; ${sql}`);
      else breakIn(address).exec(sql);
    };
    const rows = (sql: string) => Number(breakIn(address).prepare(sql).get()?.["n"]);
    return { hub, address, steps, change, rows };
  }

  const of = (branch: string) => `chain = (select key from chains where branch = '${branch}')`;

  it.each(["sqlite", "postgres"] as const)(
    "reports a step deleted from a trace on %s, even the first [MEM-12 MEM-18]",
    async (store) => {
      const { hub, steps, change } = await pruned(store);
      await change(`delete from memories where ${of("trace/old")} and seq = 5`);
      const sixth = expect.objectContaining({ record: steps[5]?.id, field: "seq" });
      expect((await hub.verify()).problems).toContainEqual(sixth);
      await change(`delete from memories where ${of("trace/new")} and seq = 1`);
      const [second] = (await hub.traces.list({ session: "new" })).items;
      const named = expect.objectContaining({ record: second?.id, field: "seq" });
      expect((await hub.verify()).problems).toContainEqual(named);
    },
  );

  it("reports a trace whose last steps, or all of them, were deleted [MEM-18]", async () => {
    const { hub, change } = await pruned("sqlite");
    await change(`delete from memories where ${of("trace/new")} and seq = 3`);
    const end = expect.objectContaining({ record: "branch trace/new", field: "seq" });
    expect((await hub.verify()).problems).toContainEqual(end);
    await change(`delete from memories where ${of("trace/new")}`);
    expect((await hub.verify()).problems).toContainEqual(end);
  });

  it.each(["sqlite", "postgres"] as const)(
    "reports a changed pruning record on %s, and the step it no longer covers [MEM-18]",
    async (store) => {
      const { hub, steps, change } = await pruned(store);
      await change(
        `update memories set text = replace(text, '"seq":3', '"seq":2') where ${of("#pruned")}`,
      );
      const { problems } = await hub.verify();
      expect(problems.map(({ field }) => field)).toContain("link");
      const fourth = expect.objectContaining({ record: steps[3]?.id, field: "seq" });
      expect(problems).toContainEqual(fourth);
    },
  );

  it("reports a deleted pruning record and the traces it covered [MEM-18]", async () => {
    const { hub, steps, change } = await pruned("sqlite");
    await change(`delete from memories where ${of("#pruned")}`);
    const { problems } = await hub.verify();
    const records = problems.map(({ record }) => record);
    expect(records).toContain(steps[3]?.id);
    expect(records).toContain("branch trace/gone");
    expect(records).toContain("branch #pruned");
  });

  it("keeps no relations of pruned steps [MEM-18]", async () => {
    const { hub, rows } = await pruned("sqlite");
    const linked = await hub.agent("ada", {}, { instance: "linked" });
    const [fact] = (await hub.memories.recent()).items;
    await linked.trace({ kind: "tool", refs: [fact?.id ?? ""] });
    const edges = () => rows("select count(*) as n from relations");
    const before = edges();
    await hub.memories.prune({ now: Number.MAX_SAFE_INTEGER });
    expect(edges()).toBe(before - 1);
  });

  it("accepts pruning records for traces only [MEM-18]", async () => {
    const { hub, address, change } = await pruned("sqlite");
    const ada = await hub.agent("ada");
    await ada.remember({ content: "Later." });
    const [second, first] = (await hub.memories.recent({ limit: 2 })).items;
    const { seq, storedAt, link } = first as Memory;
    const clock = new VirtualClock();
    const file = address.slice("sqlite:".length);
    const store = await openSqliteStore({ file, clock, limits: DEFAULT_LIMITS });
    const data = { traces: [{ branch: "main", seq, storedAt, link }] };
    const written = writeRecord(
      { agent: "ada", instance: "s" },
      { content: "pruned", data },
      {
        ids: seededIds(1, clock),
        now: clock.now(),
        limits: DEFAULT_LIMITS,
        branch: PRUNING_BRANCH,
      },
    );
    const where = { workspace: hub.workspace, branch: PRUNING_BRANCH };
    await store.appendMemories({ ...where, memories: [written.record] });
    await store.close();
    expect((await hub.verify()).problems).toEqual([]);
    await change(`delete from memories where ${of("main")} and seq <= ${seq}`);
    const named = expect.objectContaining({ record: second?.id, field: "seq" });
    expect((await hub.verify()).problems).toContainEqual(named);
  });

  it("reports a changed end of a pruned trace [MEM-18]", async () => {
    for (const column of [
      "seq = seq + 1",
      "stored_at = stored_at + 1",
      `link = '${"0".repeat(64)}'`,
    ]) {
      const { hub, change } = await pruned("sqlite");
      await change(`update chains set ${column} where branch = 'trace/gone'`);
      const records = (await hub.verify()).problems.map(({ record }) => record);
      expect(records, column).toEqual(expect.arrayContaining(["branch trace/gone"]));
    }
  });
});

describe("the index after pruning", () => {
  it("is not rebuilt, and finds the remaining memories [MEM-18]", async () => {
    const clock = new VirtualClock();
    const address = freshAddress("sqlite");
    const hub = await open(address, { clock });
    const ada = await hub.agent("ada", {}, { instance: "long" });
    for (let i = 0; i < 300; i++) await ada.remember({ content: `Fact ${i}.`, task: `t${i % 3}` });
    for (let i = 0; i < 4; i++) await traced(ada, 500);
    await hub.settings.update({ retention: { traces: { days: 0.5 } } });
    clock.advance(DAY_MS);
    expect(await hub.memories.prune()).toMatchObject({ steps: 2_000 });
    const { records, indexed } = await hub.index.state();
    expect(indexed).toBeGreaterThan(records - 10);
    expect((await hub.memories.recent({ task: "t1", limit: 1_000 })).items).toHaveLength(100);
    await ada.remember({ content: "After.", task: "t1" });
    const other = await openHub(address);
    onTestFinished(() => other.close());
    expect((await other.memories.recent({ task: "t1", limit: 1_000 })).items[0]?.content).toBe(
      "After.",
    );
    expect((await other.memories.recent({ task: "t1", limit: 1_000 })).items).toHaveLength(101);
    expect((await other.verify()).problems).toEqual([]);
  });
});
