/** Reconstructed envelopes: the next holder gets the notes of a holder that died. */

import { describe, expect, it } from "vitest";
import type { HubOptions, Work } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, openTwo, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";

const DRAFT = { to: "ben", task: "t", intent: "Go" };

async function notes(work: Work, ...contents: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const content of contents) ids.push((await work.note(content)).memory.id);
  return ids;
}

describe.each(STORES)("work on %s whose holder dies", (store) => {
  async function team(options: HubOptions = {}) {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, ...options });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    const next = await hub.agent("ben");
    const cyd = await hub.agent("cyd", {});
    /** Lets the holder's lease run out and processes due deliveries. */
    const die = async () => {
      clock.advance(60_000);
      await hub.deliveries.runDue();
    };
    return { hub, clock, ada, ben, next, cyd, die };
  }

  it("is redelivered in a reconstructed envelope with the holder's notes [DLV-14]", async () => {
    const { hub, clock, ada, ben, next, die } = await team();
    const plan = await ada.remember({ type: "plan", content: "The plan." });
    const sent = await ada.handoff({
      ...DRAFT,
      refs: [plan.id],
      next: ["Find the bug"],
      constraints: ["No new dependencies"],
      history: [{ agent: "ada", did: "Reproduced it." }],
    });
    const lost = await take(ben);
    clock.advance(1_000);
    const noted = await notes(lost, "It is in line 3.", "Line 3 is generated.");
    const at = clock.now();
    await die();
    const work = await take(next);
    expect(work).toMatchObject({ id: sent.id, delivery: { attempt: 2 } });
    const { id, parents, history, refs, reconstructed, metadata, ...said } = work.envelope;
    expect(sent.envelope, "what the sender said stays, and so does the hop").toMatchObject(said);
    expect(said.hop).toBe(0);
    expect(id).not.toBe(sent.envelope.id);
    expect(parents).toEqual([sent.envelope.id]);
    expect(metadata).toEqual({ createdAt: clock.now() });
    expect(reconstructed).toEqual({
      attempt: 1,
      holder: "ben",
      notes: 2,
      reason: "its lease ran out",
    });
    expect(history).toEqual([
      { agent: "ada", did: "Reproduced it." },
      { agent: "ben", at, did: "It is in line 3.", ref: noted[0] },
      { agent: "ben", at, did: "Line 3 is generated.", ref: noted[1] },
    ]);
    expect(refs.map((ref) => ref.id)).toEqual([plan.id, ...noted]);
    expect(refs.at(-1)?.digest).toBe((await work.read(noted[1] ?? "")).digest);
    expect(await work.complete()).toMatchObject({ kind: "settled" });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("keeps the original envelope and links the new one to it in the chain [DLV-14]", async () => {
    const { hub, ada, ben, next, die } = await team();
    const sent = await ada.handoff(DRAFT);
    const lost = await take(ben);
    await lost.note("Half of it is done.");
    const [before] = await hub.tasks.line("t");
    await die();
    const work = await take(next);
    const line = await hub.tasks.line("t");
    expect(line).toHaveLength(2);
    expect(line[0]).toEqual({ ...before, deliveries: [] });
    expect(line[1]).toMatchObject({ envelope: work.envelope, deliveries: [{ id: sent.id }] });
    const record = await ada.memories.read(line[1]?.memory ?? "");
    expect(record).toMatchObject({ agent: "baton", type: "handoff", task: "t" });
    const edges = (await ada.memories.relations(record.id)).items;
    expect(edges.map(({ kind, target }) => [kind, target]).sort()).toEqual(
      [
        ["continues-from", sent.memory],
        ["summarizes", lost.delivery.acceptedBy],
      ].sort(),
    );
    expect((await ada.memories.relations(present(work.delivery.acceptedBy))).items).toMatchObject([
      { kind: "continues-from", target: record.id },
    ]);
  });

  it("refuses the dead holder's result and tags its late note [DLV-14 DLV-6]", async () => {
    const { ada, ben, next, die } = await team();
    const sent = await ada.handoff(DRAFT);
    const lost = await take(ben);
    await lost.note("In time.");
    await die();
    const work = await take(next);
    const late = await lost.note("Too late.");
    expect(late).toMatchObject({ kind: "kept", memory: { tags: ["stale-holder"] } });
    expect(await refusal(lost.complete({ summary: "Mine!" }))).toMatchObject({
      code: "lease_lost",
    });
    expect(work.envelope.history.map(({ did }) => did)).toEqual(["In time."]);
    await work.complete({ summary: "Theirs." });
    expect(await sent.completed()).toMatchObject({ result: { summary: "Theirs." } });
    expect((await ada.memories.recent({ tag: "stale-holder" })).items).toEqual([late.memory]);
  });

  it("is reconstructed from what the holder did after accepting, not before [DLV-14]", async () => {
    const { clock, ada, ben, next, die } = await team();
    await ada.handoff(DRAFT);
    await ben.trace({ kind: "tool", name: "before", task: "t" });
    clock.advance(1_000);
    const lost = await take(ben);
    await lost.trace({ kind: "tool", name: "since" });
    await die();
    const { history } = (await take(next)).envelope;
    expect(history).toMatchObject([{ agent: "ben", did: "tool since" }]);
  });

  it("is redelivered in the same envelope when there are no notes [DLV-14]", async () => {
    const { hub, ada, ben, next, die } = await team();
    const sent = await ada.handoff(DRAFT);
    await take(ben);
    await die();
    const work = await take(next);
    expect(work.delivery.attempt).toBe(2);
    expect(work.envelope).toEqual(sent.envelope);
    expect(await hub.tasks.line("t")).toHaveLength(1);
  });

  it("keeps its envelope when the holder releases or fails it instead [DLV-14]", async () => {
    const { ada, ben, next } = await team({ random: () => 0 });
    const sent = await ada.handoff(DRAFT);
    const released = await take(ben);
    await released.note("Not for me.");
    await released.release();
    const failed = await take(next);
    await failed.note("Too hard.");
    await failed.fail({ message: "no" });
    expect((await take(next)).envelope).toEqual(sent.envelope);
  });

  it("accumulates the notes of several holders without adding a hop [DLV-14 ENV-9]", async () => {
    const { hub, ada, ben, next, die } = await team();
    const sent = await ada.handoff(DRAFT);
    await (await take(ben)).note("First.");
    await die();
    const second = await take(next);
    await second.note("Second.");
    await die();
    const third = await take(ben);
    expect(third.envelope.history.map(({ did }) => did)).toEqual(["First.", "Second."]);
    expect(third.envelope).toMatchObject({
      hop: 0,
      parents: [second.envelope.id],
      reconstructed: { attempt: 2, notes: 1 },
    });
    expect((await hub.tasks.line("t")).map(({ envelope }) => envelope.id)).toEqual([
      sent.envelope.id,
      second.envelope.id,
      third.envelope.id,
    ]);
    await third.handoff({ to: "cyd" });
    expect((await hub.tasks.line("t")).at(-1)?.envelope.hop).toBe(1);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("is reconstructed from the newest envelope after an extension [DLV-14 ENV-11]", async () => {
    const { ada, ben, next, die } = await team();
    await ada.handoff(DRAFT);
    await (await take(ben)).note("Began.");
    const added = await ada.handoff({ ...DRAFT, next: ["And the tests"] });
    expect(added.joined).toBe("extended");
    await die();
    const { envelope } = await take(next);
    expect(envelope).toMatchObject({ next: ["And the tests"], parents: [added.envelope.id] });
    expect(envelope.history.map(({ did }) => did)).toEqual(["Began."]);
  });

  it("goes to the fallback with the notes after the last attempt [DLV-14 DLV-7]", async () => {
    const { hub, ada, ben, next, cyd, die } = await team();
    const policy = { attempts: 1, fallback: ["cyd"] };
    const sent = await ada.handoff({ ...DRAFT, policy });
    await (await take(ben)).note("Half of it is done.");
    await die();
    expect(await next.accept()).toBeUndefined();
    const work = await take(cyd);
    expect(work.id).toBe(sent.id);
    expect(work.envelope).toMatchObject({
      to: { agent: "ben" },
      hop: 0,
      history: [{ agent: "ben", did: "Half of it is done." }],
      reconstructed: { holder: "ben", attempt: 1 },
    });
    await work.complete();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("keeps the notes in the dead letter after the last attempt [DLV-14 DLV-7]", async () => {
    const { hub, ada, ben, cyd, die } = await team();
    const sent = await ada.handoff({ ...DRAFT, policy: { attempts: 1 } });
    await (await take(ben)).note("Half of it is done.");
    await die();
    const [dead] = (await hub.deadLetters.list()).items;
    expect(dead).toMatchObject({
      delivery: { id: sent.id },
      envelope: { reconstructed: { holder: "ben" } },
      attempts: [{ outcome: "expired", holder: "ben" }],
    });
    await ada.deadLetters.redrive(sent.id, { to: "cyd" });
    expect((await take(cyd)).envelope.history).toMatchObject([{ did: "Half of it is done." }]);
  });

  it("records that it was held too long as the reason [DLV-14]", async () => {
    const { clock, ada, ben, next, die } = await team({ limits: { holdMs: 90_000 } });
    await ada.handoff(DRAFT);
    const work = await take(ben);
    clock.advance(45_000);
    await work.note("Still at it.");
    await die();
    expect((await take(next)).envelope.reconstructed).toMatchObject({ reason: "held too long" });
  });

  it("shortens a long note in the history and keeps the full text readable [DLV-14]", async () => {
    const { ada, ben, next, die } = await team();
    await ada.handoff(DRAFT);
    const long = "word ".repeat(1_000).trim();
    const [id = ""] = await notes(await take(ben), long);
    await die();
    const work = await take(next);
    const [entry] = work.envelope.history;
    expect(entry?.did.length).toBeLessThan(500);
    expect(entry?.did.endsWith(" …")).toBe(true);
    expect((await work.read(id)).content).toBe(long);
  });

  it("lists only the newest notes when not all fit into the envelope [DLV-14]", async () => {
    const { ada, ben, next, die } = await team({ limits: { envelopeBytes: 16_000 } });
    await ada.handoff(DRAFT);
    const work = await take(ben);
    for (let n = 1; n <= 60; n++) await work.note(`${n}: ${"x".repeat(300)}`);
    await die();
    const { history, reconstructed, refs } = (await take(next)).envelope;
    const numbers = history.map(({ did }) => Number.parseInt(did, 10));
    expect(numbers).toEqual(Array.from({ length: 20 }, (_, i) => 41 + i));
    expect(refs).toHaveLength(20);
    expect(reconstructed?.notes).toBe(60);
  });

  it("includes the newest of 230 notes [DLV-14]", async () => {
    const { ada, ben, next, die } = await team();
    await ada.handoff(DRAFT);
    const work = await take(ben);
    for (let n = 1; n <= 230; n++) await work.note(`note ${n}`);
    await die();
    const { history, reconstructed } = (await take(next)).envelope;
    expect(history.at(-1)?.did).toBe("note 230");
    expect(reconstructed?.notes).toBe(230);
  });

  it("lists the newest notes even if the history was already full [DLV-14]", async () => {
    const { ada, ben, next, die } = await team();
    const history = Array.from({ length: 200 }, (_, i) => ({ agent: "ada", did: `step ${i}` }));
    await ada.handoff({ ...DRAFT, history });
    const work = await take(ben);
    for (let n = 1; n <= 6; n++) await work.note(`note ${n}`);
    await die();
    const { envelope } = await take(next);
    expect(envelope.history.map(({ did }) => did)).toEqual([
      ...history.slice(4).map(({ did }) => did),
      ...[3, 4, 5, 6].map((n) => `note ${n}`),
    ]);
    expect(envelope.reconstructed?.notes).toBe(6);
  });

  it("goes to a receiver waiting in another hub when its process ends [DLV-14 DLV-6]", async () => {
    const clock = new VirtualClock();
    const dead = new Set<string>();
    const isGone = (process: string) => dead.has(process);
    const [here, there] = await openTwo(
      store,
      { clock, processes: { self: "here", isGone } },
      { clock, processes: { self: "there", isGone } },
    );
    const ada = await here.agent("ada", {});
    const ben = await here.agent("ben", {});
    const next = await there.agent("ben");
    const sent = await ada.handoff(DRAFT);
    await (await take(ben)).note("Half of it is done.");
    const signal = AbortSignal.timeout(60_000);
    const waiting = next.accept({ wait: true, signal });
    dead.add("here");
    const work = await waiting;
    expect(work).toMatchObject({ id: sent.id, delivery: { attempt: 2 } });
    expect(work?.envelope).toMatchObject({
      history: [{ did: "Half of it is done." }],
      reconstructed: { attempt: 1, reason: "process ended" },
    });
    expect(await there.deliveries.attempts(sent.id)).toMatchObject([
      { outcome: "expired", reason: { reason: "process ended" } },
    ]);
  });
});
