/**
 * Steps that agents take through the hub: sending, accepting, settling, and deciding about
 * deliveries.
 */

import fc from "fast-check";
import { isBatonError, type Offer, type Sent, type Work } from "../../../src/index.ts";
import { present } from "../../support/present.ts";
import { inputOf, memory } from "./agent-and-memory-steps.ts";
import { type Handover, LIMITS, NAMES, type Side, WORKSPACE } from "./side.ts";
import {
  addressee,
  agentOf,
  envelopeAt,
  inParts,
  known,
  memoryAt,
  NOTHING,
  name,
  number,
  onceIn,
  pick,
  rarely,
  receiver,
  step,
  task,
} from "./step.ts";

async function handOver(
  side: Side,
  handover: Handover,
  wished: ReturnType<typeof wishedFor> & { readonly refs?: string[] } = {},
) {
  const { from, task } = handover;
  const sent = await agentOf(side, from)?.handoff({
    intent: `do ${task}`,
    ...wished,
    ...draft(handover),
  });
  if (sent === undefined) return undefined;
  keepSent(side, sent);
  side.handovers.push(handover);
  return sent;
}

const draft = ({ from: _, ...rest }: Handover) => rest;

const seenSent = async (sent: Sent | undefined) => {
  if (sent === undefined) return NOTHING;
  const { id, envelope, digest, memory, joined } = sent;
  return { id, envelope, digest, memory, joined, status: await sent.status() };
};

const handover = fc.record({ from: known, to: known, task });

/** Optional fields of a handoff. */
const wishes = fc.record({
  priority: rarely(fc.constantFrom("urgent" as const, "high" as const, "low" as const)),
  delayMs: rarely(fc.constantFrom(1, 700, 5_000)),
  key: rarely(fc.constantFrom("k1", "k2")),
  acceptMs: rarely(fc.constantFrom(500, 40_000)),
});

type Wishes = typeof wishes extends fc.Arbitrary<infer Choice> ? Choice : never;

const wishedFor = ({ priority, delayMs, key, acceptMs }: Wishes) => ({
  ...(priority && { priority }),
  ...(delayMs && { delayMs }),
  ...(key && { key }),
  ...(acceptMs && { policy: { acceptMs } }),
});

/** Sends on a task of its own, so that nothing extends it, with a deadline. */
export const handoffApart = step(
  "hand over apart",
  fc.record({ from: known, to: addressee, deadlineMs: number, wishes }),
  async (side, { from, to, deadlineMs, wishes: chosen }) => {
    const { policy, ...draft } = wishedFor(chosen);
    const sent = await agentOf(side, from)?.handoff({
      ...{ intent: "apart", ...draft, to, task: `apart ${side.deliveries.length}` },
      policy: { ...policy, deadlineMs: 1 + deadlineMs },
    });
    if (sent === undefined) return NOTHING;
    keepSent(side, sent);
    return seenSent(sent);
  },
);

export const publish = step(
  "publish",
  fc.record({
    from: name,
    to: fc.subarray([...NAMES], { minLength: 1 }),
    also: onceIn(6, fc.constantFrom("dot", "nobody")),
    task,
  }),
  async (side, { from, to, also, task }) => {
    await side.hub.channels.set("news");
    const sent = await agentOf(side, from)?.channels.publish(
      "news",
      { intent: "all of you", task },
      { receivers: also === undefined ? to : [...to, also] },
    );
    if (sent === undefined) return NOTHING;
    keepSent(side, sent);
    return Promise.all(sent.each.map(seenSent));
  },
);

function keepSent(side: Side, sent: Sent): void {
  side.memories.push(sent.memory);
  side.envelopes.push(sent.envelope.id);
  const { joined } = sent;
  if (joined === "new" || joined === "superseded") {
    side.deliveries.push(...sent.each.map((each) => each.id));
  }
}

const DECISIONS = ["answer", "cancel", "redrive", "redrive elsewhere", "discard"] as const;

/** Decides about a delivery as a person would, whatever its state. */
export const decide = step(
  "decide",
  fc.record({ by: name, delivery: number, how: fc.constantFrom(...DECISIONS), to: receiver }),
  async (side, { by, delivery: n, how, to }) => {
    const agent = agentOf(side, by);
    const delivery = await fitting(side, n, how);
    if (agent === undefined || delivery === undefined) return NOTHING;
    switch (how) {
      case "answer":
        return agent.questions.answer(delivery, "the second one");
      case "cancel":
        return agent.deliveries.cancel(delivery, "not needed");
      case "redrive":
        return agent.deadLetters.redrive(delivery);
      case "redrive elsewhere":
        return agent.deadLetters.redrive(delivery, { to });
      case "discard":
        return agent.deadLetters.discard(delivery, "nobody wants it");
    }
  },
);

/** Returns a delivery that the decision fits, or else any. */
async function fitting(side: Side, n: number, how: (typeof DECISIONS)[number]) {
  const state = how === "answer" ? "waiting" : "dead";
  const parked = await side.store.listParked({ workspace: WORKSPACE, state, limit: 8 });
  const ids = how === "cancel" ? [] : parked.map(({ delivery }) => delivery.id);
  return pick(ids, n) ?? pick(side.deliveries, n);
}

export const pause = step(
  "pause",
  fc.record({ who: name, on: fc.constantFrom(true, false, false) }),
  async (side, { who, on }) => (on ? side.hub.agents.pause(who) : side.hub.agents.unpause(who)),
);

/**
 * Runs due decisions only if there is exactly one: several are made concurrently, and may differ
 * between sides.
 */
export const carryOut = inParts(
  "let time pass, carry out",
  fc.constantFrom(0, 600, LIMITS.leaseMs),
  [
    async (side, ms) => side.clock.advance(ms),
    async (side) => {
      const { due } = await side.store.listDue({ workspace: WORKSPACE, gone: [], limit: 2 });
      return due.length === 1 ? side.hub.deliveries.runDue() : due;
    },
  ],
).map((each) => ({ ...each, burst: true, past: true }));

/** Asks a question, and sometimes answers it. */
export const clarify = inParts("ask back", fc.record({ handover, answers: fc.boolean() }), [
  async (side, { handover: chosen }) => seenSent(await handOver(side, chosen)),
  async (side, { handover: { to, task } }) => keep(side, await agentOf(side, to)?.accept({ task })),
  async (side) => side.works.at(-1)?.clarify("which one?") ?? NOTHING,
  async (side, { handover: { from }, answers }) => {
    const agent = agentOf(side, from);
    const [asked] = (await agent?.questions.list()) ?? [];
    if (asked === undefined || !answers) return asked ?? NOTHING;
    return agent?.questions.answer(asked.delivery.id, "the second one");
  },
]);

export const handoff = step(
  "hand over",
  fc.record({
    from: name,
    to: addressee,
    task,
    ref: rarely(number),
    parent: onceIn(6, number),
    wishes,
  }),
  async (side, { from, to, task, ref, parent, wishes: chosen }) => {
    const parents = parent === undefined ? {} : { parents: [envelopeAt(side, parent)] };
    const refs = ref === undefined ? [] : [memoryAt(side, ref)];
    return seenSent(
      await handOver(side, { from, to, task, ...parents }, { refs, ...wishedFor(chosen) }),
    );
  },
);

export const handoffAgain = step("hand over again", number, async (side, n) => {
  const before = pick(side.handovers, n);
  return before === undefined ? NOTHING : seenSent(await handOver(side, before));
});

export const start = inParts("hand over and accept", handover, [
  async (side, chosen) => seenSent(await handOver(side, chosen)),
  async (side, { to, task }) => keep(side, await agentOf(side, to)?.accept({ task })),
]);

export const offer = inParts("hand over and offer", handover, [
  async (side, chosen) => seenSent(await handOver(side, chosen)),
  (side, { to, task }) => lookInto(side, to, task),
]);

/** Sends work of one task from every agent, so that it has to queue. */
export const lineUp = inParts("line up", fc.record({ to: known, task }), [
  ...NAMES.map(
    (from) => async (side: Side, chosen: { to: string; task: string }) =>
      seenSent(await handOver(side, { from, ...chosen })),
  ),
  async (side, { to, task }) => keep(side, await agentOf(side, to)?.accept({ task })),
]);

export const resume = step(
  "resume",
  fc.record({ by: known, work: number }),
  async (side, { by, work }) => {
    const held = pick(side.works, work, 3);
    if (held === undefined) return NOTHING;
    return keep(side, await agentOf(side, by)?.resume(held.handle));
  },
);

export const accept = step(
  "accept",
  fc.record({ by: name, task: rarely(task), delivery: rarely(number) }),
  async (side, { by, task, delivery }) => {
    const id = delivery === undefined ? undefined : pick(side.deliveries, delivery);
    const which = { ...(task && { task }), ...(id && { delivery: id }) };
    return keep(side, await agentOf(side, by)?.accept(which));
  },
);

export function keep(side: Side, work: Work | undefined) {
  if (work === undefined) return NOTHING;
  side.works.push(work);
  side.memories.push(present(work.delivery.acceptedBy));
  return seenWork(work);
}

async function lookInto(side: Side, by: string, task: string | undefined) {
  const inbox = agentOf(side, by)?.inbox({ wait: false, ...(task && { task }) });
  const found = (await inbox?.next())?.value as Offer | undefined;
  await inbox?.return();
  if (found === undefined) return NOTHING;
  side.offers.push(found);
  return { id: found.id, delivery: found.delivery, envelope: found.envelope };
}

export const look = step(
  "look into the inbox",
  fc.record({ by: name, task: rarely(task) }),
  (side, { by, task }) => lookInto(side, by, task),
);

export const answer = step(
  "answer an offer",
  fc.record({ offer: number, verb: fc.constantFrom("accept", "accept", "decline", "release") }),
  async (side, { offer: n, verb }) => {
    const offer = pick(side.offers, n, 3);
    if (offer === undefined) return NOTHING;
    if (verb === "decline") return settling(offer, () => offer.decline("not mine"));
    if (verb === "release") return offer.release();
    return keep(side, await offer.accept());
  },
);

/** Settles; if the sender has extended the work, returns the new envelope. */
async function settling<Outcome>(
  held: Pick<Work | Offer, "envelope">,
  settle: () => Promise<Outcome>,
) {
  try {
    return { kind: "ended", outcome: await settle() } as const;
  } catch (error) {
    if (!isBatonError(error) || error.code !== "work_extended") throw error;
    return { kind: "extended", error: error.toJSON(), envelope: held.envelope } as const;
  }
}

const seenWork = ({ id, envelope, delivery: { task, attempt, acceptedBy } }: Work) => ({
  id,
  task,
  envelope,
  attempt,
  acceptedBy,
});

const VERBS = [
  "clarify",
  "note",
  "note",
  "complete",
  "fail",
  "fail for good",
  "decline",
  "release",
  "renew",
  "read",
] as const;

export const work = step(
  "work",
  fc.record({ work: number, verb: fc.constantFrom(...VERBS), memory }),
  async (side, { work: n, verb, memory }) => {
    const held = pick(side.works, n, 3);
    if (held === undefined) return NOTHING;
    switch (verb) {
      case "note": {
        const noted = await held.note(inputOf(side, memory));
        side.memories.push(noted.memory.id);
        return noted;
      }
      case "complete":
        return settling(held, () => held.complete({ summary: "done", outputs: { n } }));
      case "fail":
        return settling(held, () => held.fail({ message: "no luck" }));
      case "fail for good":
        return settling(held, () => held.fail({ message: "no way", class: "permanent" }));
      case "clarify":
        return settling(held, () => held.clarify("which one?"));
      case "decline":
        return settling(held, () => held.decline("not mine"));
      case "release":
        return held.release();
      case "renew":
        await held.renew();
        return seenWork(held);
      case "read":
        return held.read(memoryAt(side, n));
    }
  },
);

export const handOn = step(
  "hand on",
  fc.record({ work: number, to: receiver, task: rarely(task), parent: onceIn(6, number) }),
  async (side, { work: n, to, task, parent }) => {
    const held = pick(side.works, n, 3);
    if (held === undefined) return NOTHING;
    const draft = {
      to,
      ...(task && { task }),
      ...(parent === undefined ? {} : { parents: [envelopeAt(side, parent)] }),
    };
    const settled = await settling(held, () => held.handoff(draft));
    if (settled.kind === "extended") return settled;
    keepSent(side, settled.outcome);
    return seenSent(settled.outcome);
  },
);
