/** People as receivers: approving, rejecting, editing, answering, deadlines and reminders. */
import { describe, expect, it } from "vitest";
import type { HubOptions } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";

const HOUR_MS = 3_600_000;

describe.each(STORES)("a person on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, ...options });
    const coder = await hub.agent("coder", {});
    const profile = { kind: "person" as const, name: "Paula", role: "owner" };
    const paula = await hub.agent("paula", profile, { lease: "session" });
    const ask = (draft: object = {}) =>
      coder.handoff({
        to: "paula",
        task: "release",
        intent: "May I release?",
        action: "needs_input",
        expects: [{ name: "decision", type: "approval" }],
        payload: { type: "plan", data: { version: "2.0" } },
        ...draft,
      });
    return { hub, clock, coder, paula, ask };
  }

  it("is listed as a person, and addressed by name or role like any agent [DLV-17]", async () => {
    const { hub, paula, ask } = await team();
    const kinds = (await hub.agents.list()).map(({ id, kind }) => [id, kind]);
    expect(kinds).toEqual([
      ["coder", undefined],
      ["paula", "person"],
    ]);
    await ask();
    await ask({ to: "role:owner", task: "other" });
    expect((await paula.deliveries.waiting()).items.map(({ delivery }) => delivery.task)).toEqual([
      "release",
      "other",
    ]);
  });

  it("approves, and the waiting agent gets the decision [DLV-17]", async () => {
    const { paula, ask } = await team();
    const sent = await ask();
    const waiting = sent.completed({ timeoutMs: 60_000 });
    const work = await take(paula);
    expect((await refusal(work.complete({ summary: "Fine" }))).code).toBe("invalid_result");
    const vague = work.complete({ outputs: { decision: "yes" } });
    expect((await refusal(vague)).hint).toContain("{ approved: true }");
    const decision = { approved: true, comment: "On Monday" };
    await work.complete({ outcome: "approved", outputs: { decision } });
    expect(await waiting).toMatchObject({
      kind: "completed",
      delivery: { holder: "paula" },
      result: { outcome: "approved", outputs: { decision } },
    });
  });

  it("disapproves, which is returned as a result [DLV-17]", async () => {
    const { paula, ask } = await team();
    const sent = await ask();
    const decision = { approved: false };
    await (await take(paula)).complete({ outputs: { decision }, summary: "Not this week" });
    expect(await sent.completed({ timeoutMs: 60_000 })).toMatchObject({
      kind: "completed",
      result: { summary: "Not this week", outputs: { decision } },
    });
  });

  it("rejects with a reason [DLV-17]", async () => {
    const { hub, paula, ask } = await team();
    const sent = await ask();
    await (await take(paula)).decline("Not mine to decide");
    expect(await sent.completed({ timeoutMs: 60_000 })).toMatchObject({
      kind: "declined",
      reason: "Not mine to decide",
    });
    expect(await hub.agents.breakers()).toEqual([]); // Declining does not count as a failure.
  });

  it("answers a question as the sender of the work [DLV-17]", async () => {
    const { coder, paula } = await team();
    const sent = await paula.handoff({ to: "coder", task: "t", intent: "Release it" });
    await (await take(coder)).clarify("Which version?");
    const [question] = await paula.questions.list();
    expect(question?.question).toBe("Which version?");
    await paula.questions.answer(sent.id, "2.0");
    expect((await take(coder)).envelope.history).toMatchObject([
      { agent: "paula", decided: "2.0" },
    ]);
  });

  it("asks a question instead of deciding [DLV-17]", async () => {
    const { coder, paula, ask } = await team();
    const sent = await ask();
    await (await take(paula)).clarify("What has changed since 1.9?");
    expect(await sent.completed({ timeoutMs: 60_000 })).toMatchObject({ kind: "asked" });
    await coder.questions.answer(sent.id, "Only the parser");
    expect((await take(paula)).envelope.history).toMatchObject([{ decided: "Only the parser" }]);
  });

  it("edits by handing back a new envelope, and the old one is unchanged [DLV-17]", async () => {
    const { hub, coder, paula, ask } = await team();
    const sent = await ask();
    const work = await take(paula);
    const edited = await work.handoff({
      to: "coder",
      action: "completed",
      state: "Go, with these changes",
      payload: { type: "plan", data: { version: "1.10" } },
    });
    if (edited.kind !== "sent") throw new Error("the handoff was not sent as an extension");
    const back = await take(coder);
    expect(back.envelope).toMatchObject({
      from: { agent: "paula" },
      hop: 1,
      parents: [sent.envelope.id],
      payload: { data: { version: "1.10" } },
    });
    const line = await hub.tasks.line("release");
    expect(line.map(({ envelope }) => envelope.payload?.data)).toEqual([
      { version: "2.0" },
      { version: "1.10" },
    ]);
    expect(line[0]?.digest).toBe(sent.digest);
    expect(await sent.completed({ timeoutMs: 60_000 })).toMatchObject({
      kind: "completed",
      result: { handedOn: edited.id },
    });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("approves, replies or rejects in one call by delivery id [DLV-17]", async () => {
    const { hub, paula, ask } = await team();
    const approved = await ask();
    expect(await paula.approvals.approve(approved.id, { comment: "On Monday" })).toMatchObject({
      state: "completed",
      holder: "paula",
    });
    expect(await approved.completed({ timeoutMs: 60_000 })).toMatchObject({
      kind: "completed",
      result: {
        outcome: "approved",
        outputs: { decision: { approved: true, comment: "On Monday" } },
      },
    });
    const expects = [{ name: "text", type: "text", criteria: ["is polite"] }];
    const replied = await ask({ task: "reply", expects });
    await paula.approvals.reply(replied.id, "Dear all, …");
    expect(await replied.completed({ timeoutMs: 60_000 })).toMatchObject({
      kind: "completed",
      result: { outputs: { text: "Dear all, …" } },
    });
    const rejected = await ask({ task: "reject" });
    expect((await paula.approvals.reject(rejected.id, "Not this year")).state).toBe("declined");
    expect(await rejected.completed({ timeoutMs: 60_000 })).toMatchObject({
      kind: "declined",
      reason: "Not this year",
    });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("must have seen an extension before deciding on the work [DLV-17 ENV-11]", async () => {
    const { clock, paula, ask } = await team();
    const sent = await ask();
    await take(paula);
    clock.advance(1_000);
    const added = await ask({ next: ["Not on Friday"] });
    const seen = added.envelope.id;
    for (const decide of [
      () => paula.approvals.approve(sent.id),
      () => paula.approvals.reject(sent.id, "No"),
      () => paula.approvals.edit(sent.id, { next: ["Later"] }),
    ]) {
      const error = await refusal(decide());
      expect(error).toMatchObject({
        code: "work_extended",
        path: "seen",
        details: { delivery: sent.id, envelope: seen },
      });
    }
    expect((await sent.status()).state).toBe("accepted");
    expect((await paula.approvals.approve(sent.id, { seen })).state).toBe("completed");
  });

  it("edits in one call, which sends back a new envelope with the changes [DLV-17]", async () => {
    const { coder, paula, ask } = await team();
    const sent = await ask({ constraints: ["Keep the API"], next: ["Release 2.0"] });
    const payload = { type: "plan", data: { version: "1.10" } };
    const edited = await paula.approvals.edit(sent.id, {
      comment: "2.0 comes later",
      constraints: ["Tell support first"],
      next: ["Release 1.10"],
      payload,
    });
    expect(edited.receivers).toEqual(["coder"]);
    const { envelope } = await take(coder);
    expect(envelope).toMatchObject({
      from: { agent: "paula" },
      hop: 1,
      next: ["Release 1.10"],
      parents: [sent.envelope.id],
      payload,
    });
    expect(envelope.constraints.map(({ rule }) => rule)).toEqual([
      "Keep the API",
      "Tell support first",
    ]);
    expect(envelope.history).toMatchObject([{ agent: "paula", why: "2.0 comes later" }]);
    expect((await sent.status()).state).toBe("completed");
  });

  it("cannot decide invalidly, twice or on work of another receiver [DLV-17]", async () => {
    const { hub, coder, paula, ask } = await team();
    const sent = await ask({ expects: [{ name: "port", type: "number" }] });
    const before = await contents(hub);
    expect((await refusal(paula.approvals.approve(sent.id))).code).toBe("invalid_result");
    expect((await refusal(paula.approvals.edit(sent.id, {}))).code).toBe("invalid_input");
    expect((await refusal(coder.approvals.approve(sent.id))).code).toBe("not_open");
    for (const text of ["", 42, undefined] as string[]) {
      expect((await refusal(paula.approvals.reply(sent.id, text))).code).toBe("invalid_input");
      expect((await refusal(paula.approvals.reject(sent.id, text))).code).toBe("invalid_input");
    }
    expect(await contents(hub)).toEqual(before); // An invalid decision does not use an attempt.
    await paula.approvals.approve(sent.id, { outputs: { port: 8080 } });
    expect((await refusal(paula.approvals.approve(sent.id))).code).toBe("not_open");
    expect((await refusal(paula.approvals.reject(sent.id, "Too late"))).code).toBe("not_open");
  });

  it("can take a month: unclaimed work stays ready and uses no attempt [DLV-17]", async () => {
    const { hub, clock, paula, ask } = await team();
    const sent = await ask();
    clock.advance(30 * 24 * HOUR_MS);
    await hub.deliveries.runDue();
    expect(await sent.status()).toMatchObject({ state: "ready", attempt: 0 });
    expect((await take(paula)).id).toBe(sent.id);
  });

  it("is reminded until it accepts the work [DLV-17]", async () => {
    const { hub, clock, paula, ask } = await team();
    const sent = await ask({ policy: { remindMs: HOUR_MS } });
    const reminders = async () =>
      (await hub.events.list({ after: 0 })).items.filter(
        ({ kind, delivery }) => kind === "reminded" && delivery === sent.id,
      ).length;
    clock.advance(HOUR_MS - 1);
    await hub.deliveries.runDue();
    expect(await reminders()).toBe(0);
    clock.advance(1);
    await hub.deliveries.runDue();
    await hub.deliveries.runDue();
    expect(await reminders()).toBe(1);
    clock.advance(HOUR_MS);
    await hub.deliveries.runDue();
    expect(await reminders()).toBe(2);
    expect(await sent.status()).toMatchObject({ state: "ready", attempt: 0 }); // Uses no attempt.
    const work = await take(paula);
    clock.advance(30_000);
    await work.renew();
    expect(await reminders()).toBe(2);
    await work.complete({ outputs: { decision: { approved: true } } });
    clock.advance(2 * HOUR_MS);
    await hub.deliveries.runDue();
    expect(await reminders()).toBe(2);
  });

  it("lets a subscriber see a cancellation after a reminder [DLV-17]", async () => {
    const { hub, clock, ask } = await team();
    const sent = await ask({ policy: { remindMs: HOUR_MS } });
    const changes = sent.changes({ timeoutMs: 60_000 });
    expect((await changes.next()).value?.state).toBe("ready");
    clock.advance(HOUR_MS);
    await hub.deliveries.runDue();
    await sent.cancel("Enough");
    expect((await changes.next()).value?.state).toBe("cancelled");
  });

  it("no longer gets a request after its deadline [DLV-17]", async () => {
    const { hub, clock, paula, ask } = await team();
    const sent = await ask({ policy: { deadlineMs: 2 * HOUR_MS, remindMs: HOUR_MS } });
    clock.advance(HOUR_MS);
    await hub.deliveries.runDue();
    expect((await sent.status()).state).toBe("ready");
    clock.advance(HOUR_MS - 1);
    await hub.deliveries.runDue();
    expect((await sent.status()).state).toBe("ready");
    clock.advance(1);
    await hub.deliveries.runDue();
    expect(await sent.completed({ timeoutMs: 60_000 })).toMatchObject({ kind: "expired" });
    expect(await paula.accept()).toBeUndefined();
    expect((await paula.deliveries.waiting()).items).toEqual([]);
  });

  it("is replaced by the fallback when it does not accept in time [DLV-17]", async () => {
    const { hub, clock, ask } = await team({ random: () => 0 });
    const deputy = await hub.agent("deputy", { kind: "person" });
    const policy = { acceptMs: HOUR_MS, attempts: 1, fallback: ["deputy"] };
    const sent = await ask({ policy });
    clock.advance(HOUR_MS);
    await hub.deliveries.runDue();
    const work = await take(deputy);
    expect(work.id).toBe(sent.id);
    await work.complete({ outputs: { decision: { approved: true } } });
    expect(await hub.deliveries.attempts(sent.id)).toMatchObject([{ outcome: "accept_timeout" }]);
  });

  it("can set a policy in its profile [DLV-17]", async () => {
    const { hub, clock, coder } = await team();
    const otto = await hub.agent("otto", { kind: "person", policy: { remindMs: HOUR_MS } });
    const sent = await coder.handoff({ to: "otto", task: "t", intent: "May I?" });
    expect(sent.envelope.policy).toEqual({ remindMs: HOUR_MS });
    clock.advance(HOUR_MS);
    await hub.deliveries.runDue();
    expect((await hub.events.list({ after: 0 })).items.at(-1)).toMatchObject({
      kind: "reminded",
      delivery: sent.id,
    });
    expect((await otto.deliveries.waiting()).items).toHaveLength(1);
  });
});
