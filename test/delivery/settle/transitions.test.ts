/** The delivery state machine: the transition table is consistent, and deliveries follow it. */
import { describe, expect, it } from "vitest";
import {
  isLegal,
  TERMINAL_STATES,
  type Transition,
} from "../../../src/delivery/settle/transitions.ts";
import {
  type DeliveryState,
  type Hub,
  type PolicyInput,
  type Sent,
  TRANSITIONS,
} from "../../../src/index.ts";
import { DELIVERY_STATES } from "../../../src/store/rows.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, STORES, take } from "../../support/hub/support.ts";

const table: readonly Transition[] = Object.values(TRANSITIONS);

/** Final states that a later decision can still change. */
const PARKED: readonly DeliveryState[] = ["dead", "expired"];

describe("the transition table", () => {
  it("has the expected final states, of which only dead and expired can be left", () => {
    expect([...TERMINAL_STATES, ...PARKED].sort()).toEqual([
      "cancelled",
      "completed",
      "dead",
      "declined",
      "expired",
      "superseded",
    ]);
    for (const from of TERMINAL_STATES) {
      for (const to of DELIVERY_STATES) expect(isLegal(from, to), `${from} → ${to}`).toBe(false);
    }
    const out = table.filter(({ from }) => from.some((state) => PARKED.includes(state)));
    expect(out.map(({ verb }) => verb)).toEqual(["redrive", "discard", "open"]);
  });

  it("reaches every state from sending, and completed from each non-terminal state", () => {
    const next = (from: DeliveryState | undefined) =>
      DELIVERY_STATES.filter((to) => isLegal(from, to));
    const reach = (from: DeliveryState | undefined) => {
      const seen = new Set(next(from));
      for (const state of seen) for (const to of next(state)) seen.add(to);
      return seen;
    };
    expect(next(undefined)).toEqual(["scheduled", "ready", "dead"]);
    const reached = reach(undefined);
    expect(DELIVERY_STATES.filter((state) => !reached.has(state))).toEqual([]);
    for (const state of reached) {
      if (TERMINAL_STATES.includes(state)) continue;
      const ends = [...reach(state)].filter((to) => TERMINAL_STATES.includes(to));
      expect(ends, state).toContain("completed");
    }
  });

  it("is keyed by verb, and records events for every transition except mature", () => {
    for (const [key, { verb, events }] of Object.entries(TRANSITIONS)) {
      expect(verb).toBe(key);
      expect(events.length > 0, key).toBe(key !== "mature");
    }
    const beginnings = table.filter(({ from }) => from.length === 0);
    expect(beginnings.map(({ verb }) => verb)).toEqual(["send"]);
  });

  it("does not let an extension change the state of a delivery", () => {
    const staying = table.filter(({ to }) => to.length === 0);
    expect(staying.map(({ verb }) => verb)).toEqual(["extend"]);
    expect(isLegal("accepted", "claimed")).toBe(false);
    expect(isLegal("claimed", "waiting")).toBe(false);
  });
});

describe.each(STORES)("a delivery on %s", (store) => {
  async function team() {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, random: () => 0.5, limits: { attempts: 2 } });
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    await hub.agent("tester", {});
    const draft = { to: "coder", task: "t", intent: "Go" };
    return { hub, clock, planner, coder, draft, sent: await planner.handoff(draft) };
  }
  type Team = Awaited<ReturnType<typeof team>>;

  /** Sends a handoff that no agent claims; returns a function that processes due deliveries. */
  async function sendUnclaimed(team: Team, policy: PolicyInput): Promise<() => Promise<unknown>> {
    team.sent = await team.planner.handoff({ ...team.draft, task: "left", policy });
    team.clock.advance(1_000);
    return () => team.hub.deliveries.runDue();
  }

  async function failPermanently({ coder, sent }: Team): Promise<void> {
    await (await take(coder, { delivery: sent.id })).fail({ message: "no", class: "permanent" });
  }

  /** Sends a join that waits for the first delivery; returns the work of that delivery. */
  async function joining(team: Team) {
    const work = await take(team.coder);
    team.sent = await team.planner.handoffs.join([team.sent], { ...team.draft, task: "join" });
    return work;
  }

  /** Brings a delivery into a state the verb starts from; returns a function that performs it. */
  const SCENES: Record<string, (team: Team) => Promise<() => Promise<unknown>>> = {
    supersede:
      async ({ planner, draft }) =>
      () =>
        planner.handoff(draft),
    extend: async ({ planner, coder, draft }) => {
      await take(coder);
      return () => planner.handoff(draft);
    },
    claim:
      async ({ coder }) =>
      () =>
        coder.inbox({ wait: false }).next(),
    accept: async ({ coder }) => {
      const { value: offer } = await coder.inbox({ wait: false }).next();
      return async () => offer?.accept();
    },
    "accept (without an offer)":
      async ({ coder }) =>
      () =>
        take(coder),
    complete: async ({ coder }) => {
      const work = await take(coder);
      return () => work.complete();
    },
    fail: async ({ coder }) => {
      const work = await take(coder);
      return () => work.fail({ message: "no" });
    },
    "fail (permanent)": async ({ coder }) => {
      const work = await take(coder);
      return () => work.fail({ message: "no", class: "permanent" });
    },
    decline: async ({ coder }) => {
      const { value: offer } = await coder.inbox({ wait: false }).next();
      return async () => offer?.decline("Not mine");
    },
    "decline (accepted)": async ({ coder }) => {
      const work = await take(coder);
      return () => work.decline("Not mine");
    },
    release: async ({ coder }) => {
      const work = await take(coder);
      return () => work.release();
    },
    "release (last attempt)": async ({ coder }) => {
      await (await take(coder)).release();
      const work = await take(coder);
      return () => work.release();
    },
    ask: async ({ coder }) => {
      const work = await take(coder);
      return () => work.clarify("Which?");
    },
    answer: async ({ planner, coder, sent }) => {
      await (await take(coder)).clarify("Which?");
      return () => planner.questions.answer(sent.id, "That one");
    },
    expire: async ({ coder, clock }) => {
      await take(coder);
      clock.advance(60_000);
      return () => coder.accept({ task: "other" });
    },
    "expire (last attempt)": async ({ coder, clock }) => {
      await (await take(coder)).release();
      await take(coder);
      clock.advance(60_000);
      return () => coder.accept({ task: "other" });
    },
    miss: (team) => sendUnclaimed(team, { acceptMs: 1_000 }),
    "miss (last attempt)": (team) => sendUnclaimed(team, { acceptMs: 1_000, attempts: 1 }),
    reroute: (team) => sendUnclaimed(team, { acceptMs: 1_000, attempts: 1, fallback: ["tester"] }),
    lapse: (team) => sendUnclaimed(team, { deadlineMs: 1_000 }),
    cancel:
      async ({ sent }) =>
      () =>
        sent.cancel("Not needed"),
    "cancel (held)": async ({ coder, sent }) => {
      await take(coder);
      return () => sent.cancel("Not needed");
    },
    redrive: async (team) => {
      await failPermanently(team);
      return () => team.planner.deadLetters.redrive(team.sent.id);
    },
    discard: async (team) => {
      await failPermanently(team);
      return () => team.planner.deadLetters.discard(team.sent.id, "Not needed");
    },
    open: async (team) => {
      const work = await joining(team);
      return () => work.complete();
    },
    "open (dead)": async (team) => {
      const { planner, coder, sent: first } = team;
      await (await joining(team)).fail({ message: "no", class: "permanent" });
      await planner.deadLetters.redrive(first.id);
      const work = await take(coder);
      return () => work.complete();
    },
    "open (impossible)": async (team) => {
      const work = await joining(team);
      return () => work.decline("No");
    },
    mature: async ({ coder, clock }) => {
      await (await take(coder)).fail({ message: "no" });
      clock.advance(60_000);
      return () => coder.accept({ task: "other" });
    },
  };

  it("has a scene for every transition", () => {
    const seen = Object.keys(SCENES).map((scene) => scene.split(" ")[0]);
    expect(new Set(["send", ...seen])).toEqual(new Set(Object.keys(TRANSITIONS)));
  });

  const stateOf = async (sent: Sent): Promise<DeliveryState> => (await sent.status()).state;
  const eventsAfter = async (hub: Hub, number: number, delivery: string) =>
    (await hub.events.list({ after: number })).items.filter((event) => event.delivery === delivery);

  it.each(Object.entries(SCENES))("follows the transition table: %s", async (scene, prepare) => {
    const all = await team();
    const act = await prepare(all);
    const rule = TRANSITIONS[scene.split(" ")[0] as keyof typeof TRANSITIONS] as Transition;
    const from = await stateOf(all.sent);
    const last = (await all.hub.events.list({ after: 0 })).items.at(-1)?.number ?? 0;
    await act();
    const to = await stateOf(all.sent);
    expect(rule.from, "starts from").toContain(from);
    expect(rule.to.length === 0 ? [from] : rule.to, "leads to").toContain(to);
    expect(from === to || isLegal(from, to)).toBe(true);
    const kinds = (await eventsAfter(all.hub, last, all.sent.id)).map(({ kind }) => kind);
    expect(kinds).toHaveLength(rule.events.length === 0 ? 0 : 1);
    for (const kind of kinds) expect(rule.events).toContain(kind);
  });

  it("is not changed by accept, complete, release or decline once completed", async () => {
    const { hub, coder, sent } = await team();
    const work = await take(coder);
    await work.complete();
    const before = (await hub.events.list({ after: 0 })).items;
    expect(await coder.accept({ delivery: sent.id })).toBeUndefined();
    for (const verb of [() => work.complete(), () => work.release(), () => work.decline("x")]) {
      await expect(verb()).rejects.toMatchObject({ code: "already_settled" });
    }
    expect(await stateOf(sent)).toBe("completed");
    expect((await hub.events.list({ after: 0 })).items).toEqual(before);
  });
});
