/** Questions: the sender answers, and the next holder of the work gets the answer with it. */

import { describe, expect, it } from "vitest";
import type { HubOptions } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";

describe.each(STORES)("a question on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    return { hub, planner, coder };
  }

  async function asked(options: HubOptions = {}, draft: object = {}) {
    const all = await team(options);
    const sent = await all.planner.handoff({ to: "coder", task: "t", intent: "Go", ...draft });
    const work = await take(all.coder);
    expect(await work.clarify("Which port?")).toMatchObject({
      kind: "settled",
      delivery: { state: "waiting" },
    });
    return { ...all, sent, work };
  }

  it("reaches the sender with the delivery and envelope it is about [DLV-11]", async () => {
    const { planner, coder, sent } = await asked();
    expect(await sent.completed({ timeoutMs: 60_000 })).toMatchObject({
      kind: "asked",
      question: "Which port?",
    });
    expect((await sent.accepted({ timeoutMs: 60_000 })).kind).toBe("accepted");
    const [question, ...more] = await planner.questions.list();
    expect(more).toEqual([]);
    expect(question).toEqual({
      delivery: await sent.status(),
      envelope: sent.envelope,
      question: "Which port?",
    });
    expect(await coder.questions.list()).toEqual([]); // The agent that asked has nothing to answer.
    expect(await coder.accept()).toBeUndefined();
    const [record] = (await planner.memories.recent({ task: "t", type: "question" })).items;
    expect(record).toMatchObject({ agent: "coder", data: { question: "Which port?" } });
  });

  it("returns the work with the answer in its history once answered [DLV-11]", async () => {
    const { hub, planner, coder, sent, work } = await asked();
    const row = await planner.questions.answer(sent.id, "8080");
    expect(row).toMatchObject({ id: sent.id, state: "ready" });
    expect(await planner.questions.list()).toEqual([]);
    const again = await take(coder);
    expect(again.id).toBe(sent.id);
    expect(again.envelope.history).toEqual([
      {
        agent: "planner",
        decided: "8080",
        did: "answered: Which port?",
        ref: expect.stringMatching(/^mem_/),
      },
    ]);
    expect(again.envelope).toMatchObject({
      hop: 0,
      intent: "Go",
      parents: [sent.envelope.id],
    });
    // One graph: handoff ← acceptance ← question ← answer ← acceptance.
    const back = async (id: string) =>
      (await hub.memories.read(id)).relations?.map(({ to }) => to) ?? [];
    const [answer = ""] = await back(present(again.delivery.acceptedBy));
    const [question = ""] = await back(answer);
    expect(await hub.memories.read(answer)).toMatchObject({
      agent: "planner",
      data: { answer: "8080" },
    });
    expect(await back(question)).toEqual([work.delivery.acceptedBy]);
    expect((await hub.tasks.line("t")).map(({ envelope }) => envelope.id)).toEqual([
      sent.envelope.id,
      again.envelope.id,
    ]);
    await again.complete({ summary: "On 8080" });
    expect((await sent.completed({ timeoutMs: 60_000 })).kind).toBe("completed");
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("does not count as an attempt, no matter how many are asked [DLV-11]", async () => {
    const { hub, planner, coder } = await team({ limits: { attempts: 2 } });
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    for (let i = 1; i <= 4; i++) {
      await (await take(coder)).clarify(`Question ${i}?`);
      await planner.questions.answer(sent.id, `Answer ${i}`);
    }
    const last = await take(coder);
    expect(last.envelope.history.map(({ decided }) => decided)).toEqual([
      "Answer 1",
      "Answer 2",
      "Answer 3",
      "Answer 4",
    ]);
    // Two attempts are left, as if nothing had been asked.
    await last.release();
    expect((await sent.status()).state).toBe("ready");
    await (await take(coder)).release();
    expect((await sent.status()).state).toBe("dead");
    const outcomes = (await hub.deliveries.attempts(sent.id)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual([...Array(4).fill("asked"), "released", "released"]);
  });

  it("stays open without a lease, and wakes a receiver when answered [DLV-11]", async () => {
    const clock = new VirtualClock();
    const { hub, planner, coder, sent } = await asked({ clock });
    clock.advance(7 * 24 * 3_600_000); // Waiting work has no lease that could expire.
    await hub.deliveries.runDue();
    expect(await sent.status()).toMatchObject({ state: "waiting" });
    const waiting = coder.accept({ wait: true, signal: AbortSignal.timeout(60_000) });
    await planner.questions.answer(sent.id, "8080");
    const session = await waiting;
    expect(session?.id).toBe(sent.id);
    await session?.release();
    const other = await hub.agent("coder");
    expect((await take(other)).envelope.history).toHaveLength(1);
  });

  it("lets another session continue the work after the answer [DLV-11]", async () => {
    const { hub, planner, sent, work } = await asked();
    const other = await hub.agent("coder", undefined, { instance: "next morning" });
    await planner.questions.answer(sent.id, "8080");
    const again = await take(other);
    expect(await sent.status()).toMatchObject({ instance: "next morning", state: "accepted" });
    expect((await refusal(work.complete())).code).toBe("already_settled");
    expect(await again.complete()).toMatchObject({ kind: "settled" });
  });

  it("blocks later work of the same task [DLV-11 DLV-13]", async () => {
    const { hub, planner, coder, sent } = await asked();
    const other = await hub.agent("other", {});
    await other.handoff({ to: "coder", task: "t", intent: "And this" });
    expect(await coder.accept()).toBeUndefined();
    await planner.questions.answer(sent.id, "8080");
    expect((await take(coder)).id).toBe(sent.id);
  });

  it("can be answered only once [DLV-11]", async () => {
    const { hub, planner, sent } = await asked();
    await planner.questions.answer(sent.id, "8080");
    const before = await contents(hub);
    const refused = await refusal(planner.questions.answer(sent.id, "9090"));
    expect(refused).toMatchObject({
      code: "not_open",
      path: "delivery",
      details: { delivery: sent.id, state: "ready" },
    });
    expect(refused.hint).toContain("agent.questions.list()");
    expect(await contents(hub)).toEqual(before);
  });

  it("accepts one of two concurrent answers [DLV-11]", async () => {
    const { planner, coder, sent } = await asked();
    const answers = await Promise.allSettled([
      planner.questions.answer(sent.id, "8080"),
      planner.questions.answer(sent.id, "9090"),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect((await take(coder)).envelope.history).toHaveLength(1);
  });

  it("stays open when the work is extended, until it is answered [DLV-11 ENV-11]", async () => {
    const { planner, coder, sent } = await asked();
    const more = await planner.handoff({
      to: "coder",
      task: "t",
      intent: "Go",
      next: ["Use 8080"],
    });
    expect(more).toMatchObject({ id: sent.id, joined: "extended" });
    expect((await sent.status()).state).toBe("waiting");
    expect(await planner.questions.list()).toMatchObject([{ question: "Which port?" }]);
    await planner.questions.answer(sent.id, "See above");
    const { envelope } = await take(coder);
    expect(envelope).toMatchObject({ next: ["Use 8080"], history: [{ decided: "See above" }] });
  });

  it("is closed by the deadline and by cancelling the work [DLV-11 DLV-18]", async () => {
    const clock = new VirtualClock();
    const { hub, planner, sent } = await asked({ clock }, { policy: { deadlineMs: 60_000 } });
    clock.advance(60_000);
    await hub.deliveries.runDue();
    expect((await sent.status()).state).toBe("expired");
    expect(await planner.questions.list()).toEqual([]);
    expect((await refusal(planner.questions.answer(sent.id, "8080"))).code).toBe("not_open");

    const second = await asked();
    expect(await second.sent.cancel("Never mind")).toBe(true);
    expect(await second.planner.questions.list()).toEqual([]);
  });
});
