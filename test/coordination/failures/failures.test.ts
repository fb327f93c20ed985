/** Failures: what is reported, to whom, and when a report is withdrawn. */
import { describe, expect, it } from "vitest";
import type { Envelope, Sent } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, STORES, take } from "../../support/hub/support.ts";
import { BROKEN, fails, people, reports, teamOn } from "./failing-team.ts";

describe.each(STORES)("a failure without a coordinator, on %s", (store) => {
  it("reports what went wrong and the number of retries [CRD-3]", async () => {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, random: () => 0.5 });
    const { ada, ben, pass } = await people(hub, clock, false);
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "Go", policy: { attempts: 2 } });
    await fails(ben, { message: "Not yet" });
    await pass(60_000);
    await fails(ben, { message: "Never", class: "retryable", type: "timeout" });
    expect((await sent.status()).state).toBe("dead");
    expect(await reports(hub, "t")).toEqual([]);
    expect((await hub.failures.get(sent.id)).failure).toMatchObject({
      ...{ message: "Never", type: "timeout", class: "retryable" },
      ...{ by: "ben", delivery: sent.id, attempt: 2, retries: 1 },
    });
  });
});

describe.each(STORES)("a failure on %s", (store) => {
  it("is reported to the coordinator with class, retries and hints [CRD-3 CRD-4]", async () => {
    const { hub, ada, ben, carl } = await teamOn({ store });
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "Build it" });
    await fails(ben);
    expect((await sent.status()).state).toBe("dead");
    const report = await take(carl);
    expect(report.envelope).toMatchObject({
      action: "failed",
      failure: { ...BROKEN, attempt: 1, by: "ben", delivery: sent.id, retries: 0 },
      from: { agent: "baton" },
      intent: "Build it",
      parents: [sent.envelope.id],
      priority: "high",
      task: "t",
      to: { kind: "role", role: "coordinator" },
    });
    expect(report.envelope.next[0]).toContain(sent.id);
    expect(report.envelope.state).toContain("User is not defined");
    for (const shown of [report.primer, (await report.view()).text]) {
      expect(shown).toContain("User is not defined");
      expect(shown).toContain("Check types.ts");
      expect(shown).toContain("npm run build");
    }
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("is returned to the sender that waits for the result, with the decision [CRD-3]", async () => {
    const { ada, ben, carl } = await teamOn({ store });
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "Build it" });
    await fails(ben);
    expect(await sent.completed()).toMatchObject({
      kind: "dead",
      failure: { ...BROKEN, by: "ben" },
    });
    await carl.failures.decide(sent.id, { decision: "abort", reason: "Not worth it" });
    expect(await sent.completed()).toMatchObject({
      kind: "dead",
      decision: { decision: "abort", by: "carl", reason: "Not worth it" },
    });
  });

  it("that the policy of the handoff retries is decided by that policy [CRD-4]", async () => {
    const { hub, ada, ben } = await teamOn({ store });
    await ada.handoff({ to: "ben", task: "t", intent: "Build it" });
    await fails(ben, { message: "Busy" });
    const [mistake] = (await hub.memories.recent({ task: "t", type: "mistake" })).items;
    expect(mistake?.data).toMatchObject({
      message: "Busy",
      decision: { decision: "retry", by: "policy", attempt: 2, of: 3, inMs: 500 },
    });
    expect((await hub.failures.list()).items).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  /** Ways to fail: the failure that is reported, and the final state of the delivery. */
  const WAYS: Record<
    string,
    {
      readonly run: (team: Awaited<ReturnType<typeof teamOn>>) => Promise<Sent<object>>;
      readonly failure: Partial<NonNullable<Envelope["failure"]>>;
      readonly ends?: string;
    }
  > = {
    "every attempt fails": {
      async run({ ada, ben, pass }) {
        const sent = await ada.handoff({
          to: "ben",
          task: "t",
          intent: "x",
          policy: { attempts: 2 },
        });
        await fails(ben, { type: "timeout", message: "Slow" });
        await pass(60_000);
        await fails(ben, { type: "timeout", message: "Slow again" });
        return sent;
      },
      failure: {
        type: "timeout",
        class: "retryable",
        message: "Slow again",
        retries: 1,
        by: "ben",
      },
    },
    "it is released": {
      async run({ ada, ben }) {
        const sent = await ada.handoff({
          to: "ben",
          task: "t",
          intent: "x",
          policy: { attempts: 1 },
        });
        await (await take(ben)).release();
        return sent;
      },
      failure: { type: "released", class: "retryable", by: "ben" },
    },
    "it is declined": {
      async run({ ada, ben }) {
        const sent = await ada.handoff({ to: "ben", task: "t", intent: "x" });
        await (await take(ben)).decline("Not my trade");
        return sent;
      },
      failure: { type: "declined", class: "permanent", message: "Not my trade", by: "ben" },
    },
    "its offer is declined": {
      async run({ ada, ben }) {
        const sent = await ada.handoff({ to: "ben", task: "t", intent: "x" });
        const { value: offer } = await ben.inbox({ wait: false }).next();
        await offer?.decline("Not my trade");
        return sent;
      },
      failure: { type: "declined", class: "permanent", message: "Not my trade", by: "ben" },
    },
    "its holder stops responding": {
      async run({ ada, ben, pass }) {
        const sent = await ada.handoff({
          to: "ben",
          task: "t",
          intent: "x",
          policy: { attempts: 1 },
        });
        await take(ben);
        await pass(60_001);
        return sent;
      },
      failure: { type: "silent", class: "retryable", by: "ben", retries: 0 },
    },
    "it is not accepted in time": {
      async run({ ada, pass }) {
        const policy = { acceptMs: 1_000, attempts: 1 };
        const sent = await ada.handoff({ to: "ben", task: "t", intent: "x", policy });
        await pass(1_000);
        return sent;
      },
      failure: { type: "silent", class: "retryable", attempt: 1, retries: 0 },
    },
    "its deadline passes before it is accepted": {
      async run({ ada, pass }) {
        const policy = { deadlineMs: 5_000 };
        const sent = await ada.handoff({ to: "ben", task: "t", intent: "x", policy });
        await pass(5_000);
        return sent;
      },
      failure: { type: "silent", class: "retryable", attempt: 1, retries: 0 },
      ends: "expired",
    },
    "its deadline passes while it is held": {
      async run({ ada, ben, pass }) {
        const policy = { deadlineMs: 5_000 };
        const sent = await ada.handoff({ to: "ben", task: "t", intent: "x", policy });
        await take(ben);
        await pass(5_000);
        return sent;
      },
      failure: { type: "silent", class: "retryable", by: "ben" },
      ends: "expired",
    },
    "its line exceeds the hop limit": {
      async run({ ada, ben }) {
        await ada.handoff({ to: "ben", task: "t", intent: "x" });
        const handedOn = await (await take(ben)).handoff({ to: "ada" });
        expect(handedOn.kind).toBe("sent");
        const stopped = await (await take(ada)).handoff({ to: "ben" });
        return stopped as Sent<object>;
      },
      failure: { type: "hop_limit", class: "permanent" },
    },
    "a handoff that it joins can never complete": {
      async run({ ada, ben }) {
        const part = await ada.handoff({ to: "ben", task: "part", intent: "x" });
        const join = await ada.handoffs.join([part], { to: "ada", task: "t", intent: "y" });
        await ada.deliveries.cancel(part.id, "Not needed");
        void ben;
        return join as Sent<object>;
      },
      failure: { type: "join_impossible", class: "permanent" },
    },
  };

  it.each(Object.entries(WAYS))(
    "is reported once when %s [CRD-3 CRD-4]",
    async (_, { run, failure, ends = "dead" }) => {
      const team = await teamOn({ store, options: { limits: { hops: 1 } } });
      const sent = await run(team);
      expect((await sent.status()).state).toBe(ends);
      const report = await take(team.carl);
      expect(report.envelope.failure).toMatchObject({ ...failure, delivery: sent.id });
      expect(await reports(team.hub, "t")).toHaveLength(1);
      expect((await team.hub.failures.list({ undecided: true })).items).toMatchObject([
        { delivery: sent.id, report: report.id, task: "t", with: "carl" },
      ]);
      await team.hub.deliveries.runDue();
      expect(await team.carl.accept()).toBeUndefined();
      expect((await team.hub.verify()).problems).toEqual([]);
    },
  );

  it("is not reported without a coordinator, or if the policy parks it [CRD-4]", async () => {
    const alone = await teamOn({ store, coordinator: false });
    const first = await alone.ada.handoff({ to: "ben", task: "t", intent: "x" });
    await fails(alone.ben);
    expect(await first.completed()).toMatchObject({ kind: "dead", failure: BROKEN });
    expect(await reports(alone.hub, "t")).toEqual([]);
    const declined = await alone.ada.handoff({ to: "ben", task: "u", intent: "x" });
    await (await take(alone.ben)).decline("No");
    expect(await declined.completed()).toMatchObject({
      kind: "declined",
      reason: "No",
      failure: { type: "declined" },
    });
    const { hub, ada, ben, carl } = await teamOn({ store });
    const policy = { exhausted: "park" } as const;
    await ada.handoff({ to: "ben", task: "t", intent: "x", policy });
    await fails(ben);
    expect(await carl.accept()).toBeUndefined();
    expect((await hub.deadLetters.list()).items).toHaveLength(1);
  });

  it("is shortened to fit the report, and complete in the attempts [CRD-3]", async () => {
    const { hub, ada, ben, carl } = await teamOn({
      store,
      options: { limits: { envelopeBytes: 8_000 } },
    });
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "x" });
    await fails(ben, { ...BROKEN, message: "Broken. ".repeat(1_500) });
    const { envelope } = await take(carl);
    expect(envelope.failure?.message.length).toBeLessThanOrEqual(1_000);
    expect((await hub.deliveries.attempts(sent.id))[0]?.reason.message?.length).toBeGreaterThan(
      10_000,
    );
  });

  it("is reported without the ledger if both do not fit [CRD-3]", async () => {
    const { hub, ada, ben, carl } = await teamOn({
      store,
      options: { limits: { envelopeBytes: 4_000 } },
    });
    const constraints = [1, 2, 3, 4, 5, 6].map((n) => ({ id: `c${n}`, rule: "c".repeat(480) }));
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "x", constraints });
    await fails(ben, { ...BROKEN, message: "Broken. ".repeat(400) });
    const { envelope } = await take(carl);
    expect(envelope).toMatchObject({ constraints: [], failure: { delivery: sent.id } });
    await carl.failures.decide(sent.id, { decision: "retry", reason: "Once more" });
    expect((await take(ben)).envelope.constraints).toHaveLength(6);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("has its report withdrawn when the delivery is redriven or discarded [CRD-4]", async () => {
    const { hub, ada, ben, carl } = await teamOn({ store });
    const again = await ada.tasks.add({ task: "again", to: "ben", intent: "x" });
    await fails(ben);
    await ada.deadLetters.redrive(again.sent.id);
    expect(await carl.accept()).toBeUndefined();
    await (await take(ben)).complete({ summary: "Done after all" });
    expect(await hub.tasks.get("again")).toMatchObject({ state: "done" });
    const dropped = await ada.handoff({ to: "ben", task: "dropped", intent: "x" });
    await fails(ben);
    await ada.deadLetters.discard(dropped.id, "Not needed");
    expect(await carl.accept()).toBeUndefined();
    expect((await hub.failures.list({ undecided: true })).items).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("needs no decision once the delivery is completed after all [CRD-4]", async () => {
    const { hub, ada, ben, carl, clock } = await teamOn({ store });
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "x" });
    await fails(ben);
    const [failure] = (await hub.failures.list({ undecided: true })).items;
    await ada.deadLetters.redrive(sent.id);
    await (await take(ben)).complete({ summary: "Done after all" });
    clock.advance(1);
    expect(
      await carl.failures.decide(failure?.report ?? "", { decision: "abort", reason: "Why not" }),
    ).toMatchObject({ kind: "settled", delivery: { state: "completed" } });
    expect((await hub.failures.list({ undecided: true })).items).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });
});
