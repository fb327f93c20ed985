/** Tests traces: what agents did, step by step, by session and task, hidden from other reads. */
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import { randomIdGenerator } from "../../../src/base/ids.ts";
import type { Agent, Hub, HubOptions, Memory, TraceStep } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { dyingAfter, hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { openFresh, refusal, STORES, take } from "../../support/hub/support.ts";

const GREP: TraceStep = {
  kind: "tool",
  name: "grep",
  input: { pattern: "validateToken", flags: ["-n"] },
  output: "src/auth.ts:12",
  ms: 7,
  ok: true,
};

const contents = (memories: readonly Memory[]): string[] =>
  memories.map(({ content }) => content.split("\n")[0] as string);

describe.each(STORES)("a trace on %s", (store) => {
  async function pair(options: HubOptions = {}): Promise<{ hub: Hub; ada: Agent; ben: Agent }> {
    const hub = await openFresh(store, options);
    return {
      hub,
      ada: await hub.agent("ada", {}),
      ben: await hub.agent("ben", { role: "memory-keeper" }),
    };
  }

  it("stores each step with its session and task on the session's chain [MEM-12]", async () => {
    const { hub, ada } = await pair();
    const plan = await ada.remember({ content: "The plan." });
    const about = { task: "auth", run: "r1", tags: ["search"], refs: [plan.id] };
    const step = await ada.trace({ ...GREP, content: "Looking for it.", ...about });
    expect(step).toMatchObject({
      type: "trace",
      agent: "ada",
      session: ada.instance,
      branch: `trace/${ada.instance}`,
      seq: 1,
      data: { ...GREP, content: "Looking for it." },
      ...about,
    });
    expect(step.content).toBe(
      'tool grep (7 ms)\nLooking for it.\ninput: {"pattern":"validateToken","flags":["-n"]}\noutput: src/auth.ts:12',
    );
    expect(await hub.memories.read(step.id)).toEqual(step);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("lists the newest steps in order, by session, task or agent [MEM-12]", async () => {
    const { hub, ada, ben } = await pair();
    const again = await hub.agent("ada");
    await ada.trace([
      { kind: "prompt", content: "one", task: "a" },
      { kind: "tool", name: "two", task: "b" },
    ]);
    await ben.trace({ kind: "result", name: "three", task: "a", tags: ["x"] });
    await again.trace({ kind: "plan-made", name: "four", task: "a" });
    const of = async (query: Parameters<Hub["traces"]["list"]>[0]) =>
      contents((await hub.traces.list(query)).items);
    expect(await of({})).toEqual(["prompt", "tool two", "result three", "plan-made four"]);
    expect(await of({ session: ada.instance })).toEqual(["prompt", "tool two"]);
    expect(await of({ task: "a" })).toEqual(["prompt", "result three", "plan-made four"]);
    expect(await of({ agent: "ada" })).toEqual(["prompt", "tool two", "plan-made four"]);
    expect(await of({ agent: "ada", task: "a" })).toEqual(["prompt", "plan-made four"]);
    expect(await of({ tag: "x" })).toEqual(["result three"]);
    expect(await of({ limit: 2 })).toEqual(["result three", "plan-made four"]);
    const { next: after } = await hub.traces.list({ limit: 2 });
    expect(await of({ limit: 2, after })).toEqual(["prompt", "tool two"]);
    expect(await of({ task: "none" })).toEqual([]);
    const sessions = (await hub.traces.sessions()).items;
    const about = Object.fromEntries(sessions.map(({ session, ...rest }) => [session, rest]));
    expect(about).toMatchObject({
      [ada.instance]: { agent: "ada", task: "b", steps: 2, pruned: 0 },
      [ben.instance]: { agent: "ben", task: "a", steps: 1, pruned: 0 },
      [again.instance]: { agent: "ada", task: "a", steps: 1, pruned: 0 },
    });
  });

  it("is excluded from recent memories, catch-up, pins and handoffs [MEM-12]", async () => {
    const { hub, ada, ben } = await pair();
    await ada.remember({ content: "Known.", task: "t" });
    for (let i = 0; i < 30; i++) void ada.trace({ kind: "tool", name: `noise-${i}`, task: "t" });
    await ada.traces.flush();
    expect(contents((await hub.memories.recent({ task: "t" })).items)).toEqual(["Known."]);
    expect(contents((await ada.memories.recent()).items)).toEqual(["Known."]);
    expect(await ada.memories.pins()).toEqual([]);
    expect((await ben.catchUp({ task: "t" })).text).not.toContain("noise");
    await ada.handoff({ to: "ben", task: "t", intent: "Go" });
    expect(JSON.stringify((await take(ben)).envelope)).not.toContain("noise");
    expect((await hub.traces.list({ task: "t" })).items).toHaveLength(30);
  });

  it("is found only on request, is not handed on, and can be pruned [MEM-12]", async () => {
    const { hub, ada, ben } = await pair();
    await ada.handoff({ to: "ben", task: "login", intent: "Mend the login" });
    const work = await take(ben);
    await work.trace([
      { kind: "prompt", content: "Why does the zeppelin login fail?" },
      { kind: "tool", name: "bash", input: { command: "grep zeppelin" }, output: "src/login.ts:7" },
      { kind: "result", name: "claude", content: "The zeppelin cookie is too old.", ok: true },
    ]);
    const steps = (await hub.traces.list({ session: ben.instance, task: "login" })).items;
    expect(steps.map(({ data }) => data?.["kind"])).toEqual(["prompt", "tool", "result"]);
    expect(new Set(steps.map(({ branch }) => branch))).toEqual(new Set([`trace/${ben.instance}`]));
    const found = async (query: object) => (await hub.recall("zeppelin", query)).items.length;
    expect([await found({}), await found({ traces: true })]).toEqual([0, 3]);
    expect((await work.view()).text + work.primer).not.toContain("zeppelin");
    const handed = await work.handoff({ to: "ada", next: ["Review it"] });
    expect(JSON.stringify(handed)).not.toContain("zeppelin");
    await hub.settings.update({ retention: { traces: { sessions: 0 } } });
    await hub.memories.prune({ now: Date.now() + 86_400_000 });
    expect((await hub.traces.list({ session: ben.instance })).items).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("keeps concurrent steps in the order they were traced [MEM-12]", async () => {
    const { hub, ada, ben } = await pair();
    const names = Array.from({ length: 300 }, (_, i) => `s${i}`);
    const stored = names.map((name, i) =>
      (i % 3 === 0 ? ben : ada).trace({ kind: "tool", name, input: { i } }),
    );
    await Promise.all(stored);
    for (const [agent, mine] of [
      [ben, names.filter((_, i) => i % 3 === 0)],
      [ada, names.filter((_, i) => i % 3 !== 0)],
    ] as const) {
      const steps = (await hub.traces.list({ session: agent.instance, limit: 1_000 })).items;
      expect(contents(steps)).toEqual(mine.map((name) => `tool ${name}`));
      expect(steps.map(({ seq }) => seq)).toEqual(mine.map((_, i) => i + 1));
    }
    expect(await hub.traces.counts()).toEqual({ stored: 300, failed: 0, waiting: 0 });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("appends consecutive lists of steps in order [MEM-12]", async () => {
    const { hub, ada } = await pair();
    for (const name of ["one", "two", "three"]) await ada.trace([{ kind: "tool", name }]);
    expect(contents((await hub.traces.list()).items)).toEqual([
      "tool one",
      "tool two",
      "tool three",
    ]);
  });

  it("stores a step with an id once, and refuses another with that id [MEM-12]", async () => {
    const { hub, ada, ben } = await pair();
    const id = randomIdGenerator(systemClock).mint("memory");
    const step = { id, kind: "tool", name: "grep", input: { n: 1 } };
    const first = await ada.trace(step);
    const { seq, link } = first;
    expect(await ada.trace([step, { kind: "result" }])).toMatchObject([{ id, seq, link }, {}]);
    const other = ada.trace({ ...step, name: "sed" });
    expect((await refusal(other)).code).toBe("id_conflict");
    const beside = ada.trace([
      { kind: "tool", name: "beside" },
      { ...step, name: "sed" },
    ]);
    expect((await refusal(beside)).code).toBe("id_conflict"); // Neither step is stored.
    expect((await refusal(ben.trace(step))).code).toBe("id_conflict");
    expect(first.data).toEqual({ kind: "tool", name: "grep", input: { n: 1 } });
    expect(contents((await hub.traces.list()).items).map((text) => text.split("\n")[0])).toEqual([
      "tool grep",
      "result",
    ]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("is stored when the hub closes, even if no caller awaited it [MEM-12]", async () => {
    const reopen = sharedStore(store);
    const opened = await reopen();
    // The memory store disappears with its hub, so the proxy records what was appended.
    const kept: string[] = [];
    const watched = new Proxy(opened, {
      get(target, name: keyof typeof opened) {
        const value = target[name];
        if (typeof value !== "function") return value;
        if (name !== "appendMemories") return value.bind(target);
        return async (...given: Parameters<typeof opened.appendMemories>) => {
          const outcome = await opened.appendMemories(...given);
          if (outcome.kind === "appended") kept.push(...outcome.places.map(({ id }) => id));
          return outcome;
        };
      },
    });
    const hub = await hubOn(store, watched);
    const ada = await hub.agent("ada", {});
    for (let i = 0; i < 5; i++) void ada.trace({ kind: "tool", name: `t${i}` });
    expect(await hub.traces.counts()).toEqual({ stored: 0, failed: 0, waiting: 5 });
    await hub.close();
    expect(kept).toHaveLength(5);
    expect(await hub.traces.counts()).toEqual({ stored: 5, failed: 0, waiting: 0 });
  });

  it("refuses invalid or large steps, and reports them to flush once [MEM-12]", async () => {
    const { hub, ada, ben } = await pair({ limits: { traceBytes: 2_000 } });
    const bad: [unknown, string, string][] = [
      [{ kind: "Tool" }, "invalid_memory", "kind"],
      [{}, "invalid_memory", "kind"],
      [{ kind: "tool", other: 1 }, "invalid_memory", "other"],
      [[{ kind: "tool" }, { kind: "tool", ms: -1 }], "invalid_memory", "[1].ms"],
      [{ kind: "tool", input: { at: 1n } }, "invalid_memory", "data.input.at"],
      [{ kind: "tool", output: "x".repeat(2_000) }, "limit_exceeded", "step"],
      [
        { kind: "tool", refs: ["mem_01890000-0000-7000-8000-000000000000"] },
        "dangling_reference",
        "refs",
      ],
      [[], "invalid_input", ""],
    ];
    for (const [step, code, path] of bad) {
      const error = await refusal(ada.trace(step as TraceStep));
      expect([error.code, error.path], JSON.stringify([code, path])).toEqual([code, path]);
    }
    expect(await hub.traces.counts()).toMatchObject({ stored: 0, failed: 8 });
    expect((await refusal(ada.traces.flush())).code).toBe("invalid_memory");
    await ada.traces.flush();
    await ben.traces.flush();
    expect((await hub.traces.list({})).items).toEqual([]);
  });

  it("stores the other steps when one is refused [MEM-12]", async () => {
    const { hub, ada } = await pair();
    const missing = "mem_01890000-0000-7000-8000-000000000000";
    const steps = [{}, { refs: [missing] }, {}].map((more, i) =>
      ada.trace({ kind: "tool", name: `t${i}`, ...more }),
    );
    const outcomes = await Promise.allSettled(steps);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(contents((await hub.traces.list({})).items)).toEqual(["tool t0", "tool t2"]);
    expect(await hub.traces.counts()).toEqual({ stored: 2, failed: 1, waiting: 0 });
  });

  it("treats references its author may not see as missing [MEM-12 MEM-11]", async () => {
    const { hub, ada, ben } = await pair();
    const own = await ben.remember({ content: "Mine.", scope: "agent" });
    const unknown = "mem_01890000-0000-7000-8000-000000000000";
    const errorFor = async (id: string) => {
      const { code, path, message } = await refusal(ada.trace({ ...GREP, refs: [id] }));
      return { code, path, message: message.replace(/mem_\S+/g, "mem") };
    };
    expect(await errorFor(own.id)).toEqual(await errorFor(unknown));
    expect(await refusal(ada.traces.flush())).toMatchObject({ code: "dangling_reference" });
    const ours = await ben.remember({ content: "Ours." });
    await ada.trace({ ...GREP, refs: [ours.id] });
    expect(await hub.traces.counts()).toEqual({ stored: 1, failed: 2, waiting: 0 });
  });

  it("refuses references to quarantined memories, and keeps its order [MEM-12 MEM-16]", async () => {
    const { hub, ada, ben } = await pair();
    const [good, bad] = await ada.remember([{ content: "Right." }, { content: "Wrong." }]);
    if (!good || !bad) throw new Error("nothing was remembered");
    await ben.memories.quarantine(bad.id, "made up");
    const first = ada.trace({ kind: "tool", name: "t0", refs: [good.id] });
    const second = ada.trace([
      { kind: "tool", name: "t1" },
      { kind: "tool", name: "t2", refs: [good.id, bad.id] },
    ]);
    const third = ada.trace({ kind: "tool", name: "t3" });
    expect(await refusal(second)).toMatchObject({ code: "quarantined", path: "[1].refs[1]" });
    await Promise.all([first, third]);
    // The steps of a call are stored together or not at all.
    expect(contents((await hub.traces.list()).items)).toEqual(["tool t0", "tool t3"]);
    expect(await hub.traces.counts()).toEqual({ stored: 2, failed: 2, waiting: 0 });
  });

  it("hides quarantined steps from every list until they are lifted [MEM-12 MEM-16]", async () => {
    const { hub, ada, ben } = await pair();
    const steps = await ada.trace([
      { kind: "tool", name: "one", task: "t" },
      { kind: "tool", name: "two" },
    ]);
    await ben.memories.quarantine(steps[1]?.id ?? "", "injected");
    const { instance: session } = ada;
    expect(contents((await hub.traces.list()).items)).toEqual(["tool one"]);
    expect(contents((await hub.traces.list({ session })).items)).toEqual(["tool one"]);
    expect(contents((await ada.traces.list({ agent: "ada" })).items)).toEqual(["tool one"]);
    expect((await hub.traces.sessions()).items).toMatchObject([{ session, task: "t", steps: 2 }]);
    await ben.memories.quarantine(steps[0]?.id ?? "", "injected");
    expect((await hub.traces.list({ session })).items).toEqual([]);
    await ben.memories.lift({ session }, "it was right");
    expect(contents((await hub.traces.list()).items)).toEqual(["tool one", "tool two"]);
  });

  it("refuses the newest steps when its buffer is full, and keeps the rest [MEM-12]", async () => {
    const { hub, ada } = await pair({ limits: { traceBuffer: 3 } });
    const steps = Array.from({ length: 5 }, (_, i) => ada.trace({ kind: "tool", name: `t${i}` }));
    const outcomes = await Promise.allSettled(steps);
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...["fulfilled", "fulfilled", "fulfilled"],
      ...["rejected", "rejected"],
    ]);
    const error = await refusal(steps[3] as Promise<Memory>);
    expect(error).toMatchObject({
      code: "limit_exceeded",
      details: { limit: "traceBuffer", max: 3 },
    });
    expect(contents((await hub.traces.list({})).items)).toEqual(["tool t0", "tool t1", "tool t2"]);
    await ada.trace({ kind: "tool", name: "later" });
    expect((await hub.traces.list({})).items).toHaveLength(4);
  });

  it("reports and counts steps that could not be stored [MEM-12]", async () => {
    const { LocalHub } = await import("../../../src/index.ts");
    const reopen = sharedStore(store);
    const opened = await reopen();
    await new LocalHub(opened).agent("ada", {});
    const hub = new LocalHub(dyingAfter("findAgent", opened));
    const ada = await hub.agent("ada", {});
    void ada.trace({ kind: "tool" });
    expect((await refusal(ada.traces.flush())).code).toBe("store_closed");
    expect(await hub.traces.counts()).toEqual({ stored: 0, failed: 1, waiting: 0 });
  });

  it("has the task of its work, also when another session resumes it [MEM-12]", async () => {
    const { hub, ada, ben } = await pair();
    await ada.handoff({ to: "ben", task: "t", intent: "Go" });
    const work = await take(ben);
    await work.trace(GREP);
    const other = await hub.agent("ben");
    const resumed = await other.resume(work.handle);
    const [step] = await resumed.trace([{ kind: "result", content: "Found." }]);
    expect(step).toMatchObject({ task: "t", session: ben.instance, seq: 2 });
    expect(contents((await hub.traces.list({ task: "t" })).items)).toEqual([
      "tool grep (7 ms)",
      "result",
    ]);
  });

  it("renews the lease of a session that only traces [MEM-12]", async () => {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {}, { lease: "session" });
    await ada.handoff({ to: "ben", task: "t", intent: "Go" });
    const work = await take(ben);
    clock.advance(50_000);
    await ben.trace({ kind: "tool" });
    clock.advance(50_000);
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it("shows the next holder the last steps, and can still be pruned [MEM-12 DLV-14]", async () => {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    await ben.trace({ kind: "tool", name: "before", task: "t" });
    clock.advance(1_000);
    await ada.handoff({ to: "ben", task: "t", intent: "Go" });
    const lost = await take(ben);
    for (let i = 0; i < 8; i++) await lost.trace({ kind: "tool", name: `t${i}` });
    await ben.trace({ kind: "tool", name: "elsewhere", task: "other" });
    clock.advance(60_000);
    await hub.deliveries.runDue();
    const work = await take(await hub.agent("ben"));
    expect(work.envelope.reconstructed).toMatchObject({ holder: "ben", notes: 0 });
    expect(work.envelope.history).toMatchObject(
      [3, 4, 5, 6, 7].map((i) => ({ agent: "ben", did: `tool t${i}` })),
    );
    await hub.settings.update({ retention: { traces: { days: 0 } } });
    clock.advance(1_000);
    expect(await hub.memories.prune()).toMatchObject({ steps: 10 });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("refuses an unknown session, and suggests similar ones [MEM-12]", async () => {
    const { hub } = await pair();
    const agent = await hub.agent("ada", {}, { instance: "nightly-1" });
    await agent.trace({ kind: "tool" });
    const error = await refusal(hub.traces.list({ session: "nightly-2" }));
    expect(error).toMatchObject({ code: "unknown_session", details: { near: ["nightly-1"] } });
  });

  it("refuses a cursor that is unknown or hidden from the reader [MEM-11 MEM-12]", async () => {
    const { hub, ada, ben } = await pair();
    await ben.trace({ kind: "tool" });
    const hidden = await ada.remember({ content: "mine", scope: "agent" });
    const missing = "mem_01900000-0000-7000-8000-000000000000";
    for (const reader of [hub, ben]) {
      for (const after of [missing, hidden.id]) {
        const error = await refusal(reader.traces.list({ after }));
        expect(error).toMatchObject({ code: "unknown_memory", path: "after" });
      }
    }
  });
});
