/** Asking back: the sender answers, and whoever takes the work up then has the answer with it. */

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

  it("reaches the sender, who is told what is asked about what [DLV-11]", async () => {
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
    expect(await coder.questions.list()).toEqual([]); // It asked; it is not asked.
    expect(await coder.accept()).toBeUndefined();
    const [record] = (await planner.memories.recent({ task: "t", type: "question" })).items;
    expect(record).toMatchObject({ agent: "coder", data: { question: "Which port?" } });
  });

  it("answered comes back with the answer in its history [DLV-11]", async () => {
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

  it("does not count as a try, however often it is asked [DLV-11]", async () => {
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
    // Two tries are left, as if nothing had been asked.
    await last.release();
    expect((await sent.status()).state).toBe("ready");
    await (await take(coder)).release();
    expect((await sent.status()).state).toBe("dead");
    const outcomes = (await hub.deliveries.attempts(sent.id)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual([...Array(4).fill("asked"), "released", "released"]);
  });

  it("is answered in time or not: the session that picks it up may be another [DLV-11]", async () => {
    const clock = new VirtualClock();
    const { hub, planner, coder, sent } = await asked({ clock });
    clock.advance(7 * 24 * 3_600_000); // It waits without a lease: nothing runs out.
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

  it("lets a session end: what it asked is picked up by another [DLV-11]", async () => {
    const { hub, planner, sent, work } = await asked();
    const other = await hub.agent("coder", undefined, { instance: "next morning" });
    await planner.questions.answer(sent.id, "8080");
    const again = await take(other);
    expect(await sent.status()).toMatchObject({ instance: "next morning", state: "accepted" });
    expect((await refusal(work.complete())).code).toBe("already_settled");
    expect(await again.complete()).toMatchObject({ kind: "settled" });
  });

  it("lets nothing of the same task overtake it [DLV-11 DLV-13]", async () => {
    const { hub, planner, coder, sent } = await asked();
    const other = await hub.agent("other", {});
    await other.handoff({ to: "coder", task: "t", intent: "And this" });
    expect(await coder.accept()).toBeUndefined();
    await planner.questions.answer(sent.id, "8080");
    expect((await take(coder)).id).toBe(sent.id);
  });

  it("is answered once, and only while it waits [DLV-11]", async () => {
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

  it("answered by two at once has one answer [DLV-11]", async () => {
    const { planner, coder, sent } = await asked();
    const answers = await Promise.allSettled([
      planner.questions.answer(sent.id, "8080"),
      planner.questions.answer(sent.id, "9090"),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect((await take(coder)).envelope.history).toHaveLength(1);
  });

  it("can be answered by adding to the handoff, and is still answered [DLV-11 ENV-11]", async () => {
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

  it("is over with the deadline, or when the work is taken back [DLV-11 DLV-18]", async () => {
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
