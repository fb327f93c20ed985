/** Failures: told to whoever decides, decided once, and carried out, whoever is there and whoever dies. */
import { describe, expect, it } from "vitest";
import {
  type Agent,
  type Envelope,
  type Hub,
  type HubOptions,
  LocalHub,
  type Sent,
  type Work,
} from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import {
  dyingAfter,
  dyingAfterWrites,
  hubOn,
  sharedStore,
} from "../../support/hub/shared-store.ts";
import {
  openFresh,
  openTwo,
  refusal,
  STORES,
  type StoreName,
  take,
} from "../../support/hub/support.ts";

const COORDINATOR_MS = 600_000;
const PERSON_MS = 24 * 3_600_000;
const PAUSE_MS = 30_000;

const random = () => 0.5;
const BROKEN = {
  type: "missing_type",
  class: "permanent" as const,
  attempted: "npm run build",
  hints: ["Check types.ts"],
  message: "User is not defined",
} satisfies Parameters<Work["fail"]>[0];

interface Setting {
  readonly store: StoreName;
  readonly options?: HubOptions;
  readonly coordinator?: boolean;
}

async function teamOn({ store, options = {}, coordinator = true }: Setting) {
  const clock = new VirtualClock();
  const hub = await openFresh(store, { clock, random, ...options });
  return { hub, clock, ...(await people(hub, clock, coordinator)) };
}

async function people(hub: Hub, clock: VirtualClock, coordinator = true) {
  const ada = await hub.agent("ada", { role: "lead" });
  const ben = await hub.agent("ben", { role: "coder" });
  const carl = coordinator ? await hub.agent("carl", { role: "coordinator" }) : ada;
  /** Lets time pass, and whoever is alive look. */
  const pass = async (ms: number) => {
    clock.advance(ms);
    await hub.deliveries.runDue();
  };
  return { ada, ben, carl, pass };
}

/** Work that fails for good. */
async function fails(agent: Agent, failure: Parameters<Work["fail"]>[0] = BROKEN): Promise<void> {
  const work = await take(agent);
  await work.fail(failure);
}

/** Reports of failures, whoever has them and whatever came of them. */
async function reports(hub: Hub, task: string) {
  const steps = await hub.tasks.line(task);
  return steps.filter(({ envelope }) => envelope.failure !== undefined);
}

const decisionsIn = async (hub: Hub, task: string) =>
  (await hub.memories.recent({ task, type: "decision" })).filter(
    ({ data }) => data?.["decision"] !== undefined,
  );

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
  it("is told to the coordinator as an envelope: type, class, what was attempted, retries, hints [CRD-3 CRD-4]", async () => {
    const { hub, ada, ben, carl } = await teamOn({ store });
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "Build it" });
    await fails(ben);
    expect((await sent.status()).state).toBe("dead");
    const told = await take(carl);
    expect(told.envelope).toMatchObject({
      action: "failed",
      failure: { ...BROKEN, attempt: 1, by: "ben", delivery: sent.id, retries: 0 },
      from: { agent: "baton" },
      intent: "Build it",
      parents: [sent.envelope.id],
      priority: "high",
      task: "t",
      to: { kind: "role", role: "coordinator" },
    });
    expect(told.envelope.next[0]).toContain(sent.id);
    expect(told.envelope.state).toContain("User is not defined");
    for (const shown of [told.primer, (await told.view()).text]) {
      expect(shown).toContain("User is not defined");
      expect(shown).toContain("Check types.ts");
      expect(shown).toContain("npm run build");
    }
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("comes back along the line: whoever waits for the result is told what failed, and what was decided [CRD-3]", async () => {
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

  it("of a try that the handoff's own policy repeats is decided by that policy: its record says so [CRD-4]", async () => {
    const { hub, ada, ben } = await teamOn({ store });
    await ada.handoff({ to: "ben", task: "t", intent: "Build it" });
    await fails(ben, { message: "Busy" });
    const [mistake] = await hub.memories.recent({ task: "t", type: "mistake" });
    expect(mistake?.data).toMatchObject({
      message: "Busy",
      decision: { decision: "retry", by: "policy", attempt: 2, of: 3, inMs: 500 },
    });
    expect(await hub.failures.list()).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  /** Ways to fail: what is reported, and where the delivery ends. */
  const WAYS: Record<
    string,
    {
      readonly run: (team: Awaited<ReturnType<typeof teamOn>>) => Promise<Sent<object>>;
      readonly failure: Partial<NonNullable<Envelope["failure"]>>;
      readonly ends?: string;
    }
  > = {
    "every try fails": {
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
    "it is given back": {
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
    "it is declined unseen": {
      async run({ ada, ben }) {
        const sent = await ada.handoff({ to: "ben", task: "t", intent: "x" });
        const { value: offer } = await ben.inbox({ wait: false }).next();
        await offer?.decline("Not my trade");
        return sent;
      },
      failure: { type: "declined", class: "permanent", message: "Not my trade", by: "ben" },
    },
    "its holder falls silent": {
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
    "nobody accepts it": {
      async run({ ada, pass }) {
        const policy = { acceptMs: 1_000, attempts: 1 };
        const sent = await ada.handoff({ to: "ben", task: "t", intent: "x", policy });
        await pass(1_000);
        return sent;
      },
      failure: { type: "silent", class: "retryable", attempt: 1, retries: 0 },
    },
    "its deadline passes while nobody has it": {
      async run({ ada, pass }) {
        const policy = { deadlineMs: 5_000 };
        const sent = await ada.handoff({ to: "ben", task: "t", intent: "x", policy });
        await pass(5_000);
        return sent;
      },
      failure: { type: "silent", class: "retryable", attempt: 1, retries: 0 },
      ends: "expired",
    },
    "its deadline passes while somebody has it": {
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
    "its line is too long": {
      async run({ ada, ben }) {
        await ada.handoff({ to: "ben", task: "t", intent: "x" });
        const handedOn = await (await take(ben)).handoff({ to: "ada" });
        expect(handedOn.kind).toBe("sent");
        const stopped = await (await take(ada)).handoff({ to: "ben" });
        return stopped as Sent<object>;
      },
      failure: { type: "hop_limit", class: "permanent" },
    },
    "what it joins can never complete": {
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
      const told = await take(team.carl);
      expect(told.envelope.failure).toMatchObject({ ...failure, delivery: sent.id });
      expect(await reports(team.hub, "t")).toHaveLength(1);
      expect(await team.hub.failures.list({ undecided: true })).toMatchObject([
        { delivery: sent.id, report: told.id, task: "t", with: "carl" },
      ]);
      await team.hub.deliveries.runDue();
      expect(await team.carl.accept()).toBeUndefined();
      expect((await team.hub.verify()).problems).toEqual([]);
    },
  );

  it("is told to nobody where nobody decides, or the handoff says that it is only parked [CRD-4]", async () => {
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
    expect(await hub.deadLetters.list()).toHaveLength(1);
  });

  it("with more to say than an envelope holds is told in short, and is in the tries in full [CRD-3]", async () => {
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

  it("of a task whose ledger leaves no room for more is told without it [CRD-3]", async () => {
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

  it("of what is tried again or dropped by hand is taken back at once [CRD-4]", async () => {
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
    expect(await hub.failures.list({ undecided: true })).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("of what a holder settles while it is given up is taken back [CRD-4]", async () => {
    const { hub, ada, ben, carl, clock } = await teamOn({ store });
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "x" });
    await fails(ben);
    const [failure] = await hub.failures.list({ undecided: true });
    await ada.deadLetters.redrive(sent.id);
    await (await take(ben)).complete({ summary: "Done after all" });
    clock.advance(1);
    expect(
      await carl.failures.decide(failure?.report ?? "", { decision: "abort", reason: "Why not" }),
    ).toMatchObject({ kind: "settled", delivery: { state: "completed" } });
    expect(await hub.failures.list({ undecided: true })).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });
});

describe.each(STORES)("a decision on %s", (store) => {
  /** A failure that carl is to decide about. */
  async function failed(options: HubOptions = {}) {
    const team = await teamOn({ store, options });
    const sent = await team.ada.handoff({ to: "ben", task: "t", intent: "Build it" });
    await fails(team.ben);
    return { ...team, sent };
  }

  it("to retry has it tried again, with as many tries as at first, when it says; and is a memory caused by the failure [CRD-4]", async () => {
    const { hub, ben, carl, sent, pass } = await failed();
    const work = await take(carl);
    const answer = await carl.failures.decide(work, {
      decision: "retry",
      reason: "types.ts is there now",
      delayMs: 5_000,
      changes: { next: ["Import User from types.ts"] },
    });
    expect(answer).toMatchObject({ kind: "decided", decision: "retry", by: "carl" });
    expect((await hub.deliveries.get(work.id)).delivery.state).toBe("completed");
    expect(await ben.accept()).toBeUndefined();
    await pass(5_000);
    const again = await take(ben);
    expect(again.envelope.next).toEqual(["Import User from types.ts"]);
    const [memory] = await decisionsIn(hub, "t");
    expect(memory).toMatchObject({
      agent: "carl",
      data: { decision: "retry", delivery: sent.id, reason: "types.ts is there now", attempt: 1 },
    });
    const [mistake] = await hub.memories.recent({ task: "t", type: "mistake" });
    const causes = await carl.memories.relations(memory?.id ?? "");
    expect(causes.filter(({ kind }) => kind === "caused-by").map(({ target }) => target)).toContain(
      mistake?.id,
    );
    expect(await hub.failures.list({ task: "t" })).toMatchObject([
      { delivery: sent.id, decision: { decision: "retry", by: "carl" } },
    ]);
    await again.complete();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("to reroute has another do it [CRD-4]", async () => {
    const { hub, carl, sent } = await failed();
    const dora = await hub.agent("dora", { role: "architect" });
    const decided = { decision: "reroute", to: "role:architect", reason: "She knows" } as const;
    expect(await carl.failures.decide(sent.id, decided)).toMatchObject({
      kind: "decided",
      to: "role:architect",
      delivery: { state: "ready", receiver: "role:architect" },
    });
    await (await take(dora)).complete();
    expect(await carl.accept(), "the report is taken back").toBeUndefined();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("to abort takes everything open of the task back, tells the holders, and closes it [CRD-4]", async () => {
    const { hub, ada, ben, carl, sent } = await failed();
    const other = await hub.agent("eve", { role: "coder" });
    const more = await ada.handoff({ to: "eve", task: "t", intent: "The other half" });
    const held = await take(other);
    const { signal } = held;
    const answer = await carl.failures.decide(sent.id, { decision: "abort", reason: "No budget" });
    expect(answer).toMatchObject({ kind: "decided", decision: "abort" });
    expect(await more.completed()).toMatchObject({ kind: "cancelled", reason: "No budget" });
    expect((await refusal(held.complete())).code).toBe("cancelled");
    expect(signal.aborted).toBe(true);
    expect(await ben.accept()).toBeUndefined();
    expect(await hub.tasks.get("t")).toMatchObject({ state: "failed", closed: { as: "failed" } });
    expect((await refusal(ada.handoff({ to: "ben", task: "t", intent: "Again" }))).code).toBe(
      "task_closed",
    );
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("to ask leaves it to a person, who decides the same way; in silence the hub does [CRD-4]", async () => {
    const { hub, carl, sent, pass } = await failed();
    const asking = { decision: "ask", reason: "Is it worth it?" } as const;
    const work = await take(carl);
    const nobody = await refusal(carl.failures.decide(work, asking));
    expect(nobody).toMatchObject({ code: "unknown_agent", path: "to" });
    const pat = await hub.agent("pat", { kind: "person" });
    expect(await carl.failures.decide(work, asking)).toEqual({
      kind: "asked",
      who: "pat",
      report: work.id,
    });
    expect((await refusal(work.complete())).code).toBe("lease_lost");
    expect(await hub.failures.list({ undecided: true })).toMatchObject([
      { delivery: sent.id, with: "pat", asked: ["pat"] },
    ]);
    await pass(PERSON_MS / 4);
    const reminded = (await hub.events.list({ after: 0, limit: 1_000 })).filter(
      ({ kind }) => kind === "reminded",
    );
    expect(reminded).toMatchObject([{ delivery: work.id }]);
    const asked = await take(pat);
    expect(asked.envelope.history.at(-1)).toMatchObject({ agent: "carl", why: "Is it worth it?" });
    const answer = await pat.failures.decide(asked, { decision: "retry", reason: "Yes" });
    expect(answer).toMatchObject({ kind: "decided", by: "pat", delivery: { state: "ready" } });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("by a person who is asked and never answers is made by the hub [CRD-4]", async () => {
    const { hub, carl, sent, pass } = await failed();
    await hub.agent("pat", { kind: "person" });
    await carl.failures.decide(sent.id, { decision: "ask", to: "pat", reason: "You know best" });
    await pass(PERSON_MS);
    expect(await hub.failures.list()).toMatchObject([
      { delivery: sent.id, decision: { decision: "abort", by: "baton" } },
    ]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("stands: whoever decides again is told who decided what, and why [CRD-4]", async () => {
    const { hub, carl, sent } = await failed();
    const dan = await hub.agent("dan", { role: "coordinator" });
    await carl.failures.decide(sent.id, { decision: "retry", reason: "Once more" });
    expect(await dan.failures.decide(sent.id, { decision: "abort", reason: "No" })).toMatchObject({
      kind: "already",
      by: "carl",
      decision: "retry",
      reason: "Once more",
    });
    expect(await decisionsIn(hub, "t")).toHaveLength(1);
  });

  it("is for coordinators and whoever has the report, and says what is wrong with it [CRD-4]", async () => {
    const { ada, ben, carl, sent } = await failed();
    const retry = { decision: "retry", reason: "x" } as const;
    expect(await refusal(ben.failures.decide(sent.id, retry))).toMatchObject({
      code: "not_permitted",
    });
    const wrong: [object, string][] = [
      [{ decision: "reroute", reason: "x" }, "to"],
      [{ decision: "retry", reason: "x", to: "ben" }, "to"],
      [{ decision: "abort", reason: "x", changes: {} }, "changes"],
      [{ decision: "retry", reason: "x", changes: { to: "ada" } }, "changes"],
      [{ decision: "retry", reason: "x", changes: null }, "changes"],
      [{ decision: "abort" }, "reason"],
      [{ decision: "shrug", reason: "x" }, "decision"],
    ];
    for (const [decision, path] of wrong) {
      const error = await refusal(carl.failures.decide(sent.id, decision as typeof retry));
      expect(error).toMatchObject({ code: "invalid_input", path });
    }
    const to = "role:nobody";
    const unknown = await refusal(
      carl.failures.decide(sent.id, { decision: "reroute", to, reason: "x" }),
    );
    expect(unknown.code).toBe("unknown_role");
    const open = await ada.handoff({ to: "ben", task: "u", intent: "x" });
    expect((await refusal(carl.failures.decide(open.id, retry))).code).toBe("not_open");
    expect((await carl.failures.list({ undecided: true })).map(({ delivery }) => delivery)).toEqual(
      [sent.id],
    );
  });

  it("gives what ran out of time as much as it had at first [CRD-4]", async () => {
    const { hub, ada, ben, carl, pass, clock } = await teamOn({ store });
    const policy = { deadlineMs: 5_000 };
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "x", policy });
    await pass(5_000);
    await carl.failures.decide(sent.id, { decision: "retry", reason: "Ben is back" });
    expect(await sent.status()).toMatchObject({ state: "ready", deadline: clock.now() + 5_000 });
    await pass(5_000);
    expect((await sent.status()).state).toBe("expired");
    expect(await ben.accept()).toBeUndefined();
    const [undecided] = await hub.failures.list({ undecided: true });
    expect(undecided).toMatchObject({ before: [{ decision: "retry" }] });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("after a pause gives it its time from then on [CRD-4]", async () => {
    const { hub, ada, ben, carl, pass, clock } = await teamOn({ store });
    const policy = { deadlineMs: 5_000 };
    const late = await ada.handoff({ to: "ben", task: "late", intent: "x", policy });
    await pass(5_000);
    const soon = await ada.handoff({ to: "ben", task: "soon", intent: "x", policy });
    await fails(ben);
    for (const { id } of [late, soon]) {
      const decided = { decision: "retry", delayMs: PAUSE_MS, reason: "Ben rests" } as const;
      await carl.failures.decide(id, decided);
      const { delivery } = await hub.deliveries.get(id);
      expect(delivery).toMatchObject({ state: "scheduled", deadline: clock.now() + 35_000 });
    }
    await pass(PAUSE_MS);
    for (const task of ["late", "soon"]) expect((await take(ben)).delivery.task).toBe(task);
    expect((await hub.verify()).problems).toEqual([]);
  });
});

describe.each(STORES)("a report on %s", (store) => {
  /** A task of the queue whose work has failed; carl is told. */
  async function reported(options: HubOptions = {}) {
    const team = await teamOn({ store, options });
    const { sent } = await team.ada.tasks.add({ task: "t", to: "ben", intent: "x" });
    await fails(team.ben);
    return { ...team, sent };
  }

  it("ends with a decision: who has it can neither complete it nor hand it on before [CRD-4]", async () => {
    const { hub, carl, sent } = await reported();
    const work = await take(carl);
    for (const end of [
      () => work.complete({ summary: "Seen" }),
      () => work.handoff({ to: "ada" }),
    ]) {
      expect(await refusal(end())).toMatchObject({
        code: "not_open",
        details: { delivery: sent.id, attempt: 1 },
      });
    }
    expect(await hub.failures.list({ undecided: true })).toMatchObject([{ with: "carl" }]);
    await carl.failures.decide(work, { decision: "abort", reason: "Enough" });
    expect((await hub.deliveries.get(work.id)).delivery.state).toBe("completed");
    expect((await hub.verify()).problems).toEqual([]);
  });

  /** Ways to take it back without deciding. */
  const TAKEN_BACK: Record<
    string,
    { readonly run: (team: Awaited<ReturnType<typeof reported>>) => Promise<unknown>; as: string }
  > = {
    "it is cancelled": {
      async run({ hub, ada }) {
        const [failure] = await hub.failures.list();
        await ada.deliveries.cancel(failure?.report ?? "", "Never mind");
      },
      as: "failed",
    },
    "all of its task is cancelled": {
      run: ({ ada }) => ada.tasks.cancelHandoffs("t", "Never mind"),
      as: "failed",
    },
    "its task is ended": { run: ({ ada }) => ada.tasks.cancel("t", "Never mind"), as: "cancelled" },
  };

  it.each(Object.entries(TAKEN_BACK))(
    "that is taken back is a decision to give up, by who did it, when %s [CRD-4]",
    async (_, { run, as }) => {
      const team = await reported();
      const { hub, sent, carl, pass } = team;
      await run(team);
      expect(await hub.failures.list()).toMatchObject([
        { delivery: sent.id, decision: { decision: "abort", by: "ada", reason: "Never mind" } },
      ]);
      expect(await decisionsIn(hub, "t")).toHaveLength(1);
      expect(await hub.tasks.get("t")).toMatchObject({ state: as, closed: { by: "ada" } });
      const again = { decision: "retry", reason: "Wait" } as const;
      expect(await carl.failures.decide(sent.id, again)).toMatchObject({
        kind: "already",
        by: "ada",
      });
      await pass(2 * COORDINATOR_MS);
      expect((await sent.status()).state).toBe("dead");
      expect((await hub.verify()).problems).toEqual([]);
    },
  );

  it("of a part is decided by who ends the whole, for that reason [CRD-2 CRD-4]", async () => {
    const { hub, ada, ben, carl, sent } = await reported();
    const eve = await hub.agent("eve", { role: "coder" });
    const part = await ada.tasks.add({ task: "t/part", parent: "t", to: "eve", intent: "y" });
    await fails(eve);
    await carl.failures.decide(sent.id, { decision: "abort", reason: "No budget" });
    const [decided] = await hub.failures.list({ task: "t/part" });
    expect(decided).toMatchObject({
      delivery: part.sent.id,
      decision: { decision: "abort", by: "carl" },
    });
    expect(decided?.decision?.reason).toContain('"t", of which it is a part, failed: No budget');
    expect(await hub.failures.list({ undecided: true })).toEqual([]);
    expect(await hub.tasks.get("t/part")).toMatchObject({ state: "cancelled" });
    expect(await ben.accept()).toBeUndefined();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("goes round among those who ask each other only so often [CRD-4]", async () => {
    const { hub, carl, sent } = await reported();
    const dan = await hub.agent("dan", { role: "coordinator" });
    const pairs = [
      [carl, "dan"],
      [dan, "carl"],
    ] as const;
    const most = 200;
    for (let n = 0; n < most; n++) {
      const [who, to] = pairs[n % 2] ?? pairs[0];
      await who.failures.decide(sent.id, { decision: "ask", to, reason: "You know" });
    }
    const more = carl.failures.decide(sent.id, { decision: "ask", to: "dan", reason: "You know" });
    expect(await refusal(more)).toMatchObject({ code: "limit_exceeded", details: { max: most } });
  });

  it("that is left to the hub is decided at once [CRD-4]", async () => {
    const { hub, carl, sent, pass } = await reported();
    await carl.failures.decide(sent.id, { decision: "ask", to: "baton", reason: "As usual" });
    await pass(1);
    expect(await hub.failures.list()).toMatchObject([{ decision: { by: "baton" } }]);
  });
});

describe.each(STORES)("two coordinators on %s", (store) => {
  async function two() {
    const clock = new VirtualClock();
    const [one, other] = await openTwo(store, { clock, random });
    const team = await people(one, clock);
    const dan = await one.agent("dan", { role: "coordinator" });
    const sent = await team.ada.handoff({ to: "ben", task: "t", intent: "x" });
    await fails(team.ben);
    return { ...team, one, sent, here: team.carl, there: await other.agent(dan.id) };
  }

  it.each(["retry", "abort"] as const)(
    "that decide at once: one decision stands, the other is told (%s) [CRD-4]",
    async (decision) => {
      const { one, sent, here, there } = await two();
      const answers = await Promise.all([
        here.failures.decide(sent.id, { decision, reason: "I say so" }),
        there.failures.decide(sent.id, { decision: "retry", reason: "So do I" }),
      ]);
      expect(answers.map(({ kind }) => kind).sort()).toEqual(["already", "decided"]);
      const [kept] = await one.failures.list({ task: "t" });
      for (const answer of answers) {
        expect(answer).toMatchObject({ by: kept?.decision?.by, reason: kept?.decision?.reason });
      }
      expect(await decisionsIn(one, "t")).toHaveLength(1);
      expect(await one.failures.list({ undecided: true })).toEqual([]);
      expect((await one.verify()).problems).toEqual([]);
    },
  );

  it("of which one has the report: the other's decision takes it from its hands [CRD-4]", async () => {
    const { one, sent, here, there } = await two();
    const work = await take(here);
    const [mine, theirs] = await Promise.all([
      here.failures.decide(work, { decision: "retry", reason: "I have it" }),
      there.failures.decide(sent.id, { decision: "abort", reason: "I was quicker" }),
    ]);
    expect([mine.kind, theirs.kind].sort()).toEqual(["already", "decided"]);
    const state = (await one.deliveries.get(work.id)).delivery.state;
    expect(["completed", "cancelled"]).toContain(state);
    expect((await one.verify()).problems).toEqual([]);
  });
});

describe.each(STORES)("the hub on %s", (store) => {
  const queued = async (options: HubOptions = {}, coordinator = false) => {
    const team = await teamOn({ store, options, coordinator });
    const { sent } = await team.ada.tasks.add({ task: "t", to: "ben", intent: "Build it" });
    return { ...team, sent };
  };

  it("decides where nobody has the role: once more after a pause, then another of the role, then it ends the task [CRD-4]", async () => {
    const { hub, ben, sent, pass } = await queued();
    const eve = await hub.agent("eve", { role: "coder" });
    await hub.agent("fay", { role: "coder" });
    await hub.agents.pause("fay");
    for (let attempt = 0; attempt < 3; attempt++) {
      await fails(ben, { type: "timeout", message: "Slow" });
      await pass(PAUSE_MS);
    }
    expect(await hub.failures.list({ task: "t" })).toMatchObject([
      { decision: { decision: "retry", by: "baton" }, failure: { retries: 2, type: "timeout" } },
    ]);
    for (let attempt = 0; attempt < 3; attempt++) {
      await fails(ben, { type: "timeout", message: "Slow" });
      await pass(PAUSE_MS);
    }
    expect(await sent.status()).toMatchObject({ receiver: "eve", state: "ready" });
    await fails(eve);
    expect(await hub.tasks.get("t")).toMatchObject({ state: "failed" });
    const decided = (await hub.failures.list({ task: "t" })).map((each) => each.decision?.decision);
    expect(decided).toEqual(["retry", "reroute", "abort"]);
    expect(await hub.failures.list({ undecided: true })).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("asks a person before it gives a task up, and once [CRD-4]", async () => {
    const { hub, ben, sent } = await queued();
    const pat = await hub.agent("pat", { kind: "person" });
    await fails(ben);
    const asked = await take(pat);
    expect(asked.envelope.failure).toMatchObject({ delivery: sent.id, type: BROKEN.type });
    await pat.failures.decide(asked, { decision: "abort", reason: "Leave it" });
    expect(await hub.tasks.get("t")).toMatchObject({
      state: "failed",
      closed: { by: "pat", reason: "Leave it" },
    });
    expect((await hub.verify()).problems).toEqual([]);
  });

  /** Coordinators who do not decide. */
  const ABSENT: Record<string, (team: Awaited<ReturnType<typeof queued>>) => Promise<void>> = {
    "is paused": async ({ hub }) => hub.agents.pause("carl"),
    "is disabled": async ({ hub }) => void (await hub.agent("carl", { status: "disabled" })),
    "does not accept": async () => {},
  };

  it.each(Object.entries(ABSENT))(
    "decides in time when the coordinator %s [CRD-4]",
    async (_, leave) => {
      const team = await queued({}, true);
      await leave(team);
      await fails(team.ben);
      await team.pass(COORDINATOR_MS);
      expect(await team.hub.failures.list()).toMatchObject([
        { delivery: team.sent.id, decision: { by: "baton", decision: "abort" } },
      ]);
      expect(await team.hub.tasks.get("t")).toMatchObject({ state: "failed" });
      expect((await team.hub.verify()).problems).toEqual([]);
    },
  );

  it("decides in time when the coordinator has the report and is slow, or declines, fails or leaves it [CRD-4]", async () => {
    const endings: ((work: Work, pass: (ms: number) => Promise<void>) => Promise<unknown>)[] = [
      (work) => work.decline("Not me"),
      (work) => work.fail({ message: "I cannot", class: "permanent" }),
      async (work, pass) => {
        for (let spent = 0; spent < 2 * COORDINATOR_MS; spent += 50_000) {
          await work.renew().catch(() => {});
          await pass(50_000);
        }
      },
    ];
    for (const end of endings) {
      const { hub, ben, carl, sent, pass } = await queued({}, true);
      await fails(ben);
      const work = await take(carl);
      await end(work, pass);
      expect(await hub.failures.list()).toMatchObject([
        { delivery: sent.id, decision: { by: "baton" } },
      ]);
      expect(
        await carl.failures.decide(work.id, { decision: "retry", reason: "Late" }),
      ).toMatchObject({ kind: "already", by: "baton" });
      expect((await hub.verify()).problems).toEqual([]);
    }
  });

  it("gives a person who coordinates a person's time, and reminds [CRD-4]", async () => {
    const { hub, ben, sent, pass } = await queued();
    const pat = await hub.agent("pat", { kind: "person", role: "coordinator" });
    await fails(ben);
    await pass(COORDINATOR_MS * 3);
    expect(await pat.failures.list({ undecided: true })).toMatchObject([
      { delivery: sent.id, with: "role:coordinator", advice: { decision: { decision: "abort" } } },
    ]);
    await pass(PERSON_MS);
    expect(await hub.failures.list()).toMatchObject([{ decision: { by: "baton" } }]);
  });

  it("goes by the rules: the one with most conditions that can be carried out [CRD-4]", async () => {
    const { hub, ben, sent } = await queued();
    await hub.agent("dora", { role: "architect" });
    const rules = {
      any: { then: { abort: true } },
      "missing types": {
        when: { type: "missing_type", role: "coder", task: "t*", decided: 0 },
        then: { reroute: "role:architect" },
        reason: "Whoever knows the data defines its types",
      },
      "to nobody": {
        when: {
          type: "missing_type",
          class: "permanent",
          role: "coder",
          task: "t",
          receiver: "ben",
        },
        then: { reroute: "role:nobody" },
      },
      "other task": { when: { task: "x*", type: "missing_type" }, then: { ask: "dora" } },
    } as const;
    for (const [name, rule] of Object.entries(rules)) await hub.failures.setRule(name, rule);
    expect((await hub.failures.rules()).map(({ name }) => name)).toEqual(Object.keys(rules).sort());
    await fails(ben);
    expect(await sent.status()).toMatchObject({ receiver: "role:architect", state: "ready" });
    const [decided] = await hub.failures.list({ task: "t" });
    expect(decided?.decision).toMatchObject({
      by: "baton",
      decision: "reroute",
      to: "role:architect",
    });
    expect(decided?.decision?.reason).toContain("Whoever knows the data");
    expect(decided?.decision?.reason).toContain("to nobody");
    await fails(await hub.agent("dora"));
    expect((await hub.failures.list({ task: "t" }))[1]).toMatchObject({
      decision: { decision: "abort", reason: 'The rule "any" says so.' },
    });
    await hub.failures.deleteRule("any");
    expect(await hub.failures.rules()).toHaveLength(3);
    const bad = hub.failures.setRule("bad", { then: { retry: {}, abort: true } as never });
    expect((await refusal(bad)).code).toBe("invalid_input");
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("asks its function first; an answer that is none, or cannot be carried out, is passed over and told [CRD-4]", async () => {
    const answers: unknown[] = [
      { decision: "retry", reason: "The function says so", delayMs: 0 },
      { decision: "shrug", reason: "?" },
      new Error("it broke"),
      undefined,
    ];
    const seen: string[] = [];
    const coordinate: NonNullable<HubOptions["coordinate"]> = async (failure) => {
      seen.push(failure.failure.type);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer as undefined;
    };
    const { hub, ben, ada, sent } = await queued({ coordinate });
    await fails(ben);
    expect((await sent.status()).state).toBe("ready");
    await fails(ben);
    const [, second] = await hub.failures.list({ task: "t" });
    expect(second?.decision?.reason).toMatch(/passed over: function: .*decision/s);
    for (const task of ["u", "v"]) {
      await ada.tasks.add({ task, to: "ben", intent: "x" });
      await fails(ben);
    }
    expect((await hub.failures.list({ task: "u" }))[0]?.decision?.reason).toContain("it broke");
    expect((await hub.failures.list({ task: "v" }))[0]?.decision?.reason).not.toContain("passed");
    expect(seen).toHaveLength(4);
  });

  it("has one delivery tried again so often and no more; a person still may [CRD-4]", async () => {
    const { hub, ben, sent } = await queued({ limits: { redrives: 2 } });
    await hub.failures.setRule("again", { then: { retry: {} } });
    for (let n = 0; n < 3; n++) await fails(ben);
    const decided = await hub.failures.list({ task: "t" });
    expect(decided.map(({ decision }) => decision?.decision)).toEqual(["retry", "retry", "abort"]);
    expect(decided[2]?.decision?.reason).toContain("as often as it may be");
    expect((await sent.status()).state).toBe("dead");
  });

  it("sends nothing round in a circle for ever, whatever the rules say [CRD-4]", async () => {
    const { hub, ben, sent } = await queued({ limits: { redrives: 3 } });
    const eve = await hub.agent("eve", { role: "tester" });
    await hub.failures.setRule("there", { when: { receiver: "ben" }, then: { reroute: "eve" } });
    await hub.failures.setRule("back", { when: { receiver: "eve" }, then: { reroute: "ben" } });
    for (const each of [ben, eve, ben, eve]) await fails(each);
    const decided = await hub.failures.list({ task: "t" });
    expect(decided.map(({ decision }) => [decision?.decision, decision?.to])).toEqual([
      ["reroute", "eve"],
      ["reroute", "ben"],
      ["reroute", "eve"],
      ["abort", undefined],
    ]);
    expect((await sent.status()).state).toBe("dead");
    expect(await hub.tasks.get("t")).toMatchObject({ state: "failed" });
  });

  it("ends a task that waits for one that failed, with the reason [CRD-2 CRD-4]", async () => {
    const { hub, ada, ben } = await queued();
    await ada.tasks.add({ task: "later", to: "ben", intent: "y", after: ["t"] });
    await fails(ben);
    await hub.deliveries.runDue();
    expect(await hub.tasks.get("t")).toMatchObject({ state: "failed" });
    expect(await hub.tasks.get("later")).toMatchObject({ state: "failed" });
    expect(await hub.failures.list({ task: "later" })).toMatchObject([
      { failure: { type: "dependency", class: "permanent" }, decision: { decision: "abort" } },
    ]);
    expect(await ben.accept()).toBeUndefined();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("does not give a join up while somebody is to decide about what it waits for [CRD-4 DLV-16]", async () => {
    const { hub, ada, ben, carl } = await teamOn({ store });
    const part = await ada.handoff({ to: "ben", task: "part", intent: "x" });
    const join = await ada.handoffs.join([part], { to: "ada", task: "whole", intent: "y" });
    await fails(ben);
    expect((await join.status()).state).toBe("scheduled");
    await carl.failures.decide(part.id, { decision: "retry", reason: "Once more" });
    await fails(ben);
    await carl.failures.decide(part.id, { decision: "abort", reason: "Enough" });
    expect((await join.status()).state).toBe("dead");
    expect(await hub.failures.list({ undecided: true })).toMatchObject([
      { delivery: join.id, failure: { type: "join_impossible" } },
    ]);
    expect((await hub.verify()).problems).toEqual([]);
  });
});

describe.each(STORES)("a process on %s that dies on the way", (store) => {
  /** Everything from the last try on, with a crash after each write; whoever is left finishes it. */
  async function crashes(
    end: (work: Work) => Promise<unknown>,
    { coordinator }: { readonly coordinator: boolean },
  ): Promise<number> {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const [lasting, mortal] = [await reopen(), await reopen()];
    for (let most = 1; ; most++) {
      const options = { clock, random, workspace: `writes-${most}` };
      const hub = await hubOn(store, lasting, options);
      const { ada, ben, pass } = await people(hub, clock, coordinator);
      await ada.tasks.add({ task: "t", to: "ben", intent: "x" });
      await ada.tasks.add({ task: "later", to: "ben", intent: "y", after: ["t"] });
      const { handle } = await take(ben);
      const dying = dyingAfterWrites(most, mortal);
      const doomed = new LocalHub(dying.store, options).agent("ben");
      await doomed
        .then((agent) => agent.resume(handle))
        .then(end)
        .catch(() => {});
      for (let n = 0; n < 4; n++) await pass(COORDINATOR_MS);
      const told = await reports(hub, "t");
      expect(told, `after ${most} writes`).toHaveLength(1);
      expect(await hub.failures.list({ undecided: true })).toEqual([]);
      expect(await decisionsIn(hub, "t")).toHaveLength(1);
      expect(await hub.tasks.get("t")).toMatchObject({ state: "failed" });
      expect(await hub.tasks.get("later")).toMatchObject({ state: "failed" });
      expect((await hub.verify()).problems).toEqual([]);
      if (!dying.isDead) return most;
    }
  }

  it("leaves a failure that is reported once and decided once, wherever it dies [CRD-3 CRD-4]", async () => {
    const writes = await crashes((work) => work.fail(BROKEN), { coordinator: false });
    expect(writes).toBeGreaterThan(5);
    expect(await crashes((work) => work.decline("Not me"), { coordinator: true })).toBeGreaterThan(
      2,
    );
  }, 120_000);

  it("wrongly took a holder for dead: the report is taken back, and a later failure is told anew [CRD-4]", async () => {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const options = { clock, random, processes: { self: "p", isGone: () => false } };
    const hub = new LocalHub(await reopen(), options);
    const { ada, ben, carl } = await people(hub, clock);
    const policy = { attempts: 1 };
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "x", policy });
    const work = await take(ben);
    const mistaken = { clock, random, processes: { self: "q", isGone: () => true } };
    const doomed = new LocalHub(dyingAfter("sendHandoff", await reopen()), mistaken);
    await (await doomed.agent("ada")).accept({ wait: true }); // Until it dies of what it saw.
    const told = await take(carl);
    expect(told.envelope.failure).toMatchObject({ delivery: sent.id, type: "silent" });
    const retry = { decision: "retry", reason: "Once more" } as const;
    expect(await carl.failures.decide(told, retry)).toMatchObject({
      kind: "settled",
      delivery: { state: "accepted", holder: "ben" },
    });
    await work.fail(BROKEN);
    const anew = await take(carl);
    expect(anew.envelope.failure).toMatchObject({
      delivery: sent.id,
      type: BROKEN.type,
      attempt: 1,
    });
    expect(await carl.failures.decide(anew, retry)).toMatchObject({ kind: "decided" });
    expect(await carl.accept()).toBeUndefined();
    expect(await hub.failures.list({ undecided: true })).toEqual([]);
    expect(await hub.failures.list({ task: "t" })).toMatchObject([{ report: anew.id }]);
    await (await take(ben)).complete();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it.each([
    ["in the queue", false],
    ["that a coordinator sees to", true],
  ])(
    "right after a line %s became too long: that is told and decided all the same [CRD-4]",
    async (_, coordinator) => {
      const clock = new VirtualClock();
      const options = { clock, random, limits: { hops: 1 } };
      const reopen = sharedStore(store, { clock });
      const hub = await hubOn(store, await reopen(), options);
      const { ada, ben, pass } = await people(hub, clock, coordinator);
      const first = { task: "t", to: "ben", intent: "x" };
      await (coordinator ? ada.handoff(first) : ada.tasks.add(first));
      await (await take(ben)).handoff({ to: "ada" });
      const { handle } = await take(ada);
      const dying = dyingAfterWrites(1, await reopen());
      const doomed = await new LocalHub(dying.store, options).agent("ada");
      await (await doomed.resume(handle)).handoff({ to: "ben" }).catch(() => {});
      expect(dying.isDead).toBe(true);
      await pass(1);
      if (coordinator) await pass(COORDINATOR_MS);
      expect(await hub.failures.list()).toMatchObject([
        {
          failure: { type: "hop_limit", attempt: 1 },
          decision: { decision: "abort", by: "baton" },
        },
      ]);
      expect(await hub.tasks.get("t")).toMatchObject({ state: "failed" });
      expect(await ben.accept()).toBeUndefined();
      expect((await hub.verify()).problems).toEqual([]);
    },
  );

  it("leaves a decision that is carried out, wherever it dies [CRD-4]", async () => {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const [lasting, mortal] = [await reopen(), await reopen()];
    for (let most = 1, died = true; died; most++) {
      const options = { clock, random, workspace: `writes-${most}` };
      const hub = await hubOn(store, lasting, options);
      const { ada, ben, pass } = await people(hub, clock);
      const { sent } = await ada.tasks.add({ task: "t", to: "ben", intent: "x" });
      const child = await ada.tasks.add({ task: "t/part", parent: "t", to: "ada", intent: "z" });
      await fails(ben);
      const dying = dyingAfterWrites(most, mortal);
      const carl = new LocalHub(dying.store, options).agent("carl");
      const abort = { decision: "abort", reason: "Enough" } as const;
      await carl.then(({ failures }) => failures.decide(sent.id, abort)).catch(() => {});
      died = dying.isDead;
      for (let n = 0; n < 4; n++) await pass(COORDINATOR_MS);
      expect(await hub.failures.list({ task: "t" }), `after ${most} writes`).toMatchObject([
        { decision: { by: "carl", decision: "abort" } },
      ]);
      expect(await decisionsIn(hub, "t")).toHaveLength(1);
      expect(await hub.tasks.get("t")).toMatchObject({ state: "failed" });
      expect(await child.sent.completed()).toMatchObject({ kind: "cancelled" });
      expect((await hub.verify()).problems).toEqual([]);
    }
  }, 120_000);
});
