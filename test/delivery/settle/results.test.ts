/** Results: checked against the expected outputs before settling, and returned to the sender. */

import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import type { Hub, HubOptions, Result, Sent, Store } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import {
  contents,
  openFresh,
  refusal,
  refusedAsExtended,
  STORES,
  take,
} from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";
import { until } from "../../support/until.ts";

type Expects = { name: string; type: string; [more: string]: unknown }[];

describe.each(STORES)("a result on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    const reviewer = await hub.agent("reviewer", {});
    return { hub, planner, coder, reviewer };
  }

  async function expecting(expects: Expects) {
    const all = await team();
    const draft = { to: "coder", task: "t", intent: "Go", expects };
    const sent = await all.planner.handoff(draft as Parameters<typeof all.planner.handoff>[0]);
    return { ...all, sent, work: await take(all.coder) };
  }

  const GOOD_AND_BAD: Record<string, { good: unknown[]; bad: unknown[] }> = {
    text: { good: ["x"], bad: ["", 1, true, ["x"], { x: 1 }] },
    markdown: { good: ["# x"], bad: ["", 1, {}] },
    code: { good: ["x = 1"], bad: [1, []] },
    diff: { good: ["--- a"], bad: [{}] },
    summary: { good: ["all fine"], bad: [1] },
    file: { good: ["src/a.ts"], bad: [1] },
    url: { good: ["https://example.org"], bad: [1] },
    number: { good: [0, -1.5], bad: ["1", true, [1]] },
    boolean: { good: [true, false], bad: ["true", 0, {}] },
    list: { good: [[], [1]], bad: ["[]", { length: 0 }, 1] },
    object: { good: [{}, { a: 1 }], bad: [[], "{}", 1] },
    json: { good: [{}, []], bad: ["{}", 1, true] },
    approval: {
      good: [{ approved: true }, { approved: false, comment: "no" }],
      bad: [true, {}, { approved: "yes" }, [true]],
    },
    "anything-else": { good: ["x", 1, false, [], {}], bad: [] },
  };

  it("is refused when an output is missing or has the wrong type [DLV-15]", async () => {
    const types = Object.keys(GOOD_AND_BAD);
    const { hub, work } = await expecting(types.map((type) => ({ name: type, type })));
    const before = await contents(hub);
    const first = Object.fromEntries(types.map((type) => [type, GOOD_AND_BAD[type]?.good[0]]));
    for (const type of types) {
      for (const bad of GOOD_AND_BAD[type]?.bad ?? []) {
        const refused = await refusal(work.complete({ outputs: { ...first, [type]: bad } }));
        const at = `${type}: ${JSON.stringify(bad)}`;
        expect(refused.code, at).toBe("invalid_result");
        const faults = refused.violations.map(({ path, rule }) => `${path} ${rule}`);
        expect(faults, at).toEqual([`result.outputs.${type} type`]);
      }
      for (const missing of [undefined, null]) {
        const refused = await refusal(work.complete({ outputs: { ...first, [type]: missing } }));
        expect(refused.violations, type).toMatchObject([
          { path: `result.outputs.${type}`, rule: "required" },
        ]);
      }
    }
    expect(await contents(hub)).toEqual(before);
    expect(await work.complete({ outputs: first })).toMatchObject({ kind: "settled" });
  });

  it("is accepted with every valid value of each output type [DLV-15]", async () => {
    const { planner, coder } = await team();
    for (const [type, { good }] of Object.entries(GOOD_AND_BAD)) {
      for (const output of good) {
        const expects = [{ name: "it", type }];
        const sent = await planner.handoff({ to: "coder", intent: "Go", expects });
        await (await take(coder)).complete({ outputs: { it: output } });
        expect(await sent.completed({ timeoutMs: 60_000 })).toMatchObject({
          kind: "completed",
          result: { outputs: { it: output } },
        });
      }
    }
  });

  it("must match the format of a registered payload type [DLV-15]", async () => {
    const all = await expecting([
      { name: "report", type: "object", format: "report" },
      { name: "notes", type: "list", format: "notes" },
      { name: "free", type: "text", format: "unified diff" },
    ]);
    const { hub, work } = all;
    await hub.payloadTypes.set("report", {
      type: "object",
      required: ["verdict"],
      properties: { verdict: { enum: ["ship", "hold"] }, score: { type: "number" } },
    });
    await hub.payloadTypes.define("notes", z.array(z.string()));
    const before = await contents(hub);
    const good = { report: { verdict: "ship" }, notes: ["a"], free: "anything" };
    const violations = async (bad: object): Promise<string[]> => {
      const refused = await refusal(work.complete({ outputs: { ...good, ...bad } }));
      expect(refused.code).toBe("invalid_result");
      for (const { message, path } of refused.violations) expect(message).toContain(path);
      expect(await contents(hub)).toEqual(before);
      return refused.violations.map(({ path, rule }) => `${path} ${rule}`).toSorted();
    };
    expect(await violations({ notes: ["a", 1] })).toEqual([
      "result.outputs.notes[1] payload_schema",
    ]);
    expect(await violations({ report: { verdict: "?", score: "x" } })).toEqual([
      "result.outputs.report.score type",
      "result.outputs.report.verdict enum",
    ]);
    expect(await work.complete({ outputs: good })).toMatchObject({ kind: "settled" });
  });

  it("may be exactly as long as the limit, but not longer [DLV-15]", async () => {
    const { work } = await expecting([
      { name: "text", type: "text", maxLength: 5 },
      { name: "list", type: "list", maxLength: 7 },
    ]);
    const refused = await refusal(work.complete({ outputs: { text: "123456", list: [1, 2, 34] } }));
    expect(refused.violations.map(({ path, rule, message }) => [path, rule, message])).toEqual([
      ["result.outputs.text", "max_length", expect.stringContaining("6 characters, but at most 5")],
      ["result.outputs.list", "max_length", expect.stringContaining("8 characters, but at most 7")],
    ]);
    const exact = { text: "12345", list: [1, 2, 3] };
    expect(await work.complete({ outputs: exact })).toMatchObject({ kind: "settled" });
  });

  it("must confirm every criterion of its outputs [DLV-15]", async () => {
    const criteria = ["tests pass", "no new dependency"];
    const { hub, sent, work } = await expecting([{ name: "patch", type: "diff", criteria }]);
    const outputs = { patch: "--- a" };
    const none = await refusal(work.complete({ outputs }));
    expect(none.violations.map(({ path, rule }) => `${path} ${rule}`)).toEqual([
      "result.criteria.patch criterion",
      "result.criteria.patch criterion",
    ]);
    expect(none.hint).toContain('criteria: { patch: ["tests pass"] }');
    const some = await refusal(work.complete({ outputs, criteria: { patch: ["tests pass"] } }));
    expect(some.violations).toMatchObject([
      { message: expect.stringContaining("no new dependency") },
    ]);
    const wrong = { other: criteria };
    expect((await refusal(work.complete({ outputs, criteria: wrong }))).violations).toHaveLength(2);
    await work.complete({ outputs, criteria: { patch: criteria } });
    const { settledBy } = await sent.status();
    expect((await hub.memories.read(present(settledBy))).data).toEqual({
      outputs,
      criteria: { patch: criteria },
    });
  });

  it("is refused with all violations at once, and nothing is settled [DLV-15]", async () => {
    const { hub, sent, work } = await expecting([
      { name: "a", type: "text" },
      { name: "b", type: "number", criteria: ["is even"] },
      { name: "c", type: "text", maxLength: 1 },
    ]);
    const before = await contents(hub);
    const refused = await refusal(work.complete({ summary: "Done", outputs: { b: "2", c: "cc" } }));
    expect(refused).toMatchObject({ code: "invalid_result", path: "result.outputs.a" });
    expect(refused.violations.map(({ path, rule }) => `${path} ${rule}`)).toEqual([
      "result.outputs.a required",
      "result.outputs.b type",
      "result.criteria.b criterion",
      "result.outputs.c max_length",
    ]);
    for (const { hint } of refused.violations) expect(hint).not.toBe("");
    expect(await contents(hub)).toEqual(before);
    expect((await sent.status()).state).toBe("accepted");
    await work.renew(); // The holder keeps the work.
    expect((await refusal(work.complete())).violations).toHaveLength(4);
  });

  it("may have additional outputs, and is not needed to decline [DLV-15]", async () => {
    const { sent, work } = await expecting([{ name: "a", type: "text" }]);
    await work.complete({ outputs: { a: "x", more: 1 } });
    expect(await sent.completed({ timeoutMs: 60_000 })).toMatchObject({
      result: { outputs: { a: "x", more: 1 } },
    });
    const second = await expecting([{ name: "a", type: "text" }]);
    expect(await second.work.decline("Cannot be done")).toMatchObject({ kind: "settled" });
  });

  it("is checked against the newest envelope after an extension [DLV-15 ENV-11]", async () => {
    const { planner, work } = await expecting([]);
    const expects = [{ name: "a", type: "text" }];
    const added = await planner.handoff({ to: "coder", task: "t", intent: "Go", expects });
    await refusedAsExtended(work, () => work.complete(), added);
    expect((await refusal(work.complete())).code).toBe("invalid_result");
    expect(await work.complete({ outputs: { a: "x" } })).toMatchObject({ kind: "settled" });
  });
});

describe.each(STORES)("waiting for a result on %s", (store) => {
  async function team(options: HubOptions = {}, opened?: Hub) {
    const hub = opened ?? (await openFresh(store, options));
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    const reviewer = await hub.agent("reviewer", {});
    const request = (draft: object = {}) =>
      planner.handoff({ to: "coder", task: "t", intent: "Go", ...draft });
    return { hub, planner, coder, reviewer, request };
  }

  const answerTo = (sent: Sent<object>) => sent.completed({ timeoutMs: 60_000 });

  it("returns the result as soon as the work is completed [DLV-15]", async () => {
    const { coder, request } = await team();
    const sent = await request();
    const waiting = answerTo(sent);
    const result: Result = {
      summary: "Done",
      outputs: { port: 8080 },
      confidence: 0.75,
      outcome: "fixed",
    };
    await (await take(coder)).complete(result);
    expect(await waiting).toMatchObject({
      kind: "completed",
      delivery: { state: "completed", holder: "coder" },
      result: { ...result, memory: (await sent.status()).settledBy },
    });
    expect((await waiting).kind === "completed" && (await answerTo(sent))).toEqual(await waiting);
  });

  it("returns empty outputs and a default summary when no result was given [DLV-15]", async () => {
    const { coder, request } = await team();
    const sent = await request();
    await (await take(coder)).complete();
    const answer = await answerTo(sent);
    expect(answer).toMatchObject({ kind: "completed", result: { outputs: {} } });
    expect(answer.kind === "completed" && answer.result.summary).toContain("coder");
  });

  it("returns the reason when the work is declined [DLV-15]", async () => {
    const { coder, request } = await team();
    const sent = await request();
    await (await take(coder)).decline("Not my repository");
    expect(await answerTo(sent)).toMatchObject({ kind: "declined", reason: "Not my repository" });
  });

  it("returns every attempt when the handoff is dead-lettered [DLV-15]", async () => {
    const { coder, request } = await team({ random: () => 0 });
    const sent = await request({ policy: { attempts: 2 } });
    await (await take(coder)).fail({ message: "first" });
    expect((await sent.completed({ timeoutMs: 0 })).kind).toBe("timeout"); // It will be retried.
    await (await take(coder)).fail({ message: "second" });
    const answer = await answerTo(sent);
    expect(answer.kind).toBe("dead");
    const attempts = answer.kind === "dead" ? answer.attempts : [];
    expect(attempts.map(({ reason }) => reason.message)).toEqual(["first", "second"]);
  });

  it("returns a question, and the result once it is answered [DLV-15 DLV-11]", async () => {
    const { planner, coder, request } = await team();
    const sent = await request();
    await (await take(coder)).clarify("Which port?");
    expect(await answerTo(sent)).toMatchObject({ kind: "asked", question: "Which port?" });
    await planner.questions.answer(sent.id, "8080");
    const waiting = answerTo(sent);
    await (await take(coder)).complete({ summary: "On 8080" });
    expect(await waiting).toMatchObject({ kind: "completed", result: { summary: "On 8080" } });
  });

  it("returns the reason when the handoff is cancelled [DLV-15 DLV-18]", async () => {
    const { hub, request } = await team();
    const sent = await request();
    const lead = await hub.agent("lead", {});
    const waiting = answerTo(sent);
    await lead.deliveries.cancel(sent.id, "Not needed");
    expect(await waiting).toMatchObject({ kind: "cancelled", reason: "Not needed" });
  });

  it("enforces the deadline itself and returns expired [DLV-15 DLV-2]", async () => {
    const clock = new VirtualClock();
    const { coder, request } = await team({ clock });
    const sent = await request({ policy: { deadlineMs: 300 } });
    const work = await take(coder);
    const answer = answerTo(sent);
    clock.advance(300);
    expect(await answer).toMatchObject({ kind: "expired", delivery: { state: "expired" } });
    expect((await refusal(work.complete())).code).toBe("lease_lost");
  });

  it("returns superseded when a newer handoff replaces it [DLV-15 ENV-11]", async () => {
    const { coder, request } = await team();
    const old = await request();
    const waiting = answerTo(old);
    const newer = await request({ next: ["More"] });
    expect(await waiting).toMatchObject({ kind: "superseded", delivery: { id: old.id } });
    // With line: true, it returns the result of the newer handoff.
    const along = old.completed({ line: true, timeoutMs: 60_000 });
    await (await take(coder)).complete({ summary: "Done" });
    expect(await along).toMatchObject({ kind: "completed", delivery: { id: newer.id } });
  });

  it("returns the current state when it times out or is aborted [DLV-15]", async () => {
    const { coder, request } = await team();
    const sent = await request();
    const work = await take(coder);
    expect(await sent.completed({ timeoutMs: 20 })).toMatchObject({
      kind: "timeout",
      delivery: { id: sent.id, state: "accepted" },
    });
    const signal = AbortSignal.abort();
    expect(await sent.completed({ signal })).toMatchObject({ kind: "timeout" });
    await work.complete();
    expect((await sent.completed({ timeoutMs: 0 })).kind).toBe("completed");
  });

  it("waits for the end of the line with line: true [DLV-15]", async () => {
    const { coder, reviewer, request } = await team();
    const sent = await request();
    const along = sent.completed({ line: true, timeoutMs: 60_000 });
    const onward = await (await take(coder)).handoff({ to: "reviewer" });
    if (onward.kind !== "sent") throw new Error("the handoff was not sent as an extension");
    expect(await answerTo(sent)).toMatchObject({
      kind: "completed",
      result: { handedOn: onward.id, memory: onward.memory },
    });
    await (await take(reviewer)).complete({ summary: "Reviewed", outputs: { ok: true } });
    expect(await along).toMatchObject({
      kind: "completed",
      delivery: { id: onward.id, holder: "reviewer" },
      result: { summary: "Reviewed", outputs: { ok: true } },
    });
  });

  it("applies one timeout to the whole line [DLV-15]", async () => {
    const queriedIds = new Set<string>();
    const watched = new Proxy(await sharedStore(store)(), {
      get(target, name: keyof Store) {
        const value = target[name];
        if (typeof value !== "function") return value;
        if (name !== "findDelivery") return value.bind(target);
        return (...asked: Parameters<Store["findDelivery"]>) => {
          queriedIds.add(asked[1]);
          return target.findDelivery(...asked);
        };
      },
    });
    const { coder, request } = await team({}, await hubOn(store, watched));
    const sent = await request();
    const work = await take(coder);
    const passed = vi.spyOn(performance, "now").mockReturnValue(0);
    onTestFinished(() => passed.mockRestore());
    const signal = AbortSignal.timeout(60_000);
    const along = sent.completed({ line: true, timeoutMs: 1_000, signal });
    passed.mockReturnValue(700);
    const onward = await work.handoff({ to: "reviewer" });
    if (onward.kind !== "sent") throw new Error("the handoff was not sent as an extension");
    await until("it waits for the next of the line", () => queriedIds.has(onward.id));
    passed.mockReturnValue(1_001);
    expect(await along).toMatchObject({ kind: "timeout", delivery: { receiver: "reviewer" } });
    expect(signal.aborted, "it ended by its own time").toBe(false);
  });

  it("returns the same result to another session with the same key [DLV-15 DLV-9]", async () => {
    const clock = new VirtualClock();
    const { hub, coder, request } = await team({ clock });
    await request({ key: "k" });
    await (await take(coder)).complete({ summary: "Done" });
    const later = await hub.agent("planner", undefined, { instance: "after a crash" });
    const again = await later.handoff({ to: "coder", task: "t", intent: "Go", key: "k" });
    expect(await answerTo(again)).toMatchObject({ result: { summary: "Done" } });
  });
});
