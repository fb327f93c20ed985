/**
 * What agents do through the hub, and many writes in one turn. What only somebody with the store in
 * hand could do is in past-the-hub.ts.
 */
import fc from "fast-check";
import {
  type DeliveryRow,
  isBatonError,
  type MemoryInput,
  type Offer,
  type Sent,
  type Waiting,
  type Work,
} from "../../../src/index.ts";
import { RELATION_KINDS } from "../../../src/memory/record.ts";
import { queryOf } from "../../../src/search/query.ts";
import { EFFORT } from "../../../src/search/rank.ts";
import { WEIGHTS as RANKING_WEIGHTS } from "../../../src/search/weights.ts";
import { everybodyOn } from "../../../src/store/sight.ts";
import { plain } from "./dump.ts";
import {
  claimMany,
  lookPast,
  move,
  PAST_THE_HUB,
  putEntry,
  renewSession,
  send,
  settleWith,
  useLease,
} from "./past-the-hub.ts";
import {
  BRANCH,
  type Handover,
  LIMITS,
  NAMES,
  outcomeOf,
  type Side,
  sessionOf,
  WORKSPACE,
} from "./side.ts";
import {
  addressee,
  agentOf,
  alone,
  envelopeAt,
  idle,
  inParts,
  KEYS,
  known,
  memoryAt,
  NOTHING,
  name,
  number,
  onceIn,
  pick,
  rarely,
  receiver,
  type Step,
  step,
  TAGS,
  TASKS,
  TYPES,
  task,
  words,
  write,
} from "./step.ts";

// Agents

const register = step(
  "register",
  fc.record({
    who: name,
    role: rarely(fc.constantFrom("planner", "coder")),
    alias: rarely(fc.constantFrom("ada", "x", "y")),
    status: rarely(fc.constantFrom("active" as const, "paused" as const, "disabled" as const)),
    key: onceIn(10, fc.constantFrom(0, 1)),
  }),
  async (side, { who, role, alias, status, key }) => {
    const profile = {
      ...(role && { role }),
      ...(alias && { aliases: [alias] }),
      ...(status && { status }),
      ...(key === undefined ? {} : { key: KEYS[key] as string }),
    };
    const agent = await side.hub.agent(who, profile, sessionOf(who));
    side.agents.set(who, agent);
    return { id: agent.id, instance: agent.instance, info: agent.info };
  },
);

const enable = step("enable", name, async (side, who) => {
  const agent = await side.hub.agent(who, { status: "active" }, sessionOf(who));
  return agent.info;
});

const openAgent = step("open agent", receiver, async (side, who) => {
  const agent = await side.hub.agent(who);
  side.agents.set(agent.id, agent);
  return { id: agent.id, instance: agent.instance, info: agent.info };
});

// Memories

const memory = fc.record({
  content: words,
  type: fc.constantFrom(...TYPES),
  task: onceIn(2, task),
  tag: rarely(fc.constantFrom(...TAGS)),
  ref: rarely(number),
  relation: rarely(
    fc.record({ kind: fc.constantFrom(...RELATION_KINDS), to: number, from: rarely(fc.nat(100)) }),
  ),
  /** The id of a record that exists: a retry, or a mistake. */
  again: onceIn(12, number),
});
type MemoryChoice = typeof memory extends fc.Arbitrary<infer Choice> ? Choice : never;

function inputOf(side: Side, choice: MemoryChoice): MemoryInput {
  const { content, type, tag, ref, relation, again } = choice;
  const id = again === undefined ? undefined : pick(side.memories, again);
  return {
    content,
    type,
    ...(choice.task && { task: choice.task }),
    ...(tag && { tags: [tag] }),
    ...(ref === undefined ? {} : { refs: [memoryAt(side, ref)] }),
    ...(relation && {
      relations: [
        {
          kind: relation.kind,
          to: memoryAt(side, relation.to),
          ...(relation.from === undefined ? {} : { from: relation.from, until: 100 }),
        },
      ],
    }),
    ...(id && { id }),
  };
}

const rememberOne = (of: typeof memory) =>
  write("remember", fc.record({ by: name, memory: of }), async (side, choice) => {
    const agent = agentOf(side, choice.by);
    const input = inputOf(side, choice.memory);
    if (agent === undefined) return idle;
    return async () => {
      const written = await agent.remember(input);
      side.memories.push(written.id);
      return written;
    };
  });

const rememberSome = (of: typeof memory) =>
  write(
    "remember many",
    fc.record({ by: name, memories: fc.array(of, { minLength: 2, maxLength: 4 }) }),
    async (side, { by, memories }) => {
      const agent = agentOf(side, by);
      const inputs = memories.map((each) => inputOf(side, each));
      if (agent === undefined) return idle;
      return async () => {
        const written = await agent.remember(inputs);
        side.memories.push(...written.map((each) => each.id));
        return written;
      };
    },
  );

const [remember, rememberMany] = [rememberOne(memory), rememberSome(memory)];
/** What cites another record is looked into first: when it is written depends on how long that takes. */
const withoutCiting = (choice: MemoryChoice): MemoryChoice => ({
  ...choice,
  ref: undefined,
  relation: undefined,
});
const plainMemory = memory.map(withoutCiting) as typeof memory;

const pin = step(
  "pin",
  fc.record({ by: name, memory: number, off: fc.boolean() }),
  async (side, { by, memory, off }) => {
    const agent = agentOf(side, by);
    if (off) await agent?.memories.unpin(memoryAt(side, memory));
    else await agent?.memories.pin(memoryAt(side, memory));
    return agent?.memories.pins() ?? NOTHING;
  },
);

// Handoffs

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

/** What a handoff may ask for besides. */
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

/** On a task of its own, so that nothing extends it, and with a deadline. */
const handoffApart = step(
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

const publish = step(
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

/** What a person says about a delivery, whatever has become of it. */
const decide = step(
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

/** One that it is about, if there is any; else just one. */
async function fitting(side: Side, n: number, how: (typeof DECISIONS)[number]) {
  const state = how === "answer" ? "waiting" : "dead";
  const parked = await side.store.listParked({ workspace: WORKSPACE, state, limit: 8 });
  const ids = how === "cancel" ? [] : parked.map(({ delivery }) => delivery.id);
  return pick(ids, n) ?? pick(side.deliveries, n);
}

const pause = step(
  "pause",
  fc.record({ who: name, on: fc.constantFrom(true, false, false) }),
  async (side, { who, on }) => (on ? side.hub.agents.pause(who) : side.hub.agents.unpause(who)),
);

/** Decisions of one round are made side by side: only a single one is the same on both sides. */
const carryOut = inParts("let time pass, carry out", fc.constantFrom(0, 600, LIMITS.leaseMs), [
  async (side, ms) => side.clock.advance(ms),
  async (side) => {
    const { due } = await side.store.listDue({ workspace: WORKSPACE, gone: [], limit: 2 });
    return due.length === 1 ? side.hub.deliveries.runDue() : due;
  },
]).map((each) => ({ ...each, burst: true, past: true }));

/** A question, and perhaps an answer. */
const clarify = inParts("ask back", fc.record({ handover, answers: fc.boolean() }), [
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

const handoff = step(
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

const handoffAgain = step("hand over again", number, async (side, n) => {
  const before = pick(side.handovers, n);
  return before === undefined ? NOTHING : seenSent(await handOver(side, before));
});

const start = inParts("hand over and accept", handover, [
  async (side, chosen) => seenSent(await handOver(side, chosen)),
  async (side, { to, task }) => keep(side, await agentOf(side, to)?.accept({ task })),
]);

const offer = inParts("hand over and offer", handover, [
  async (side, chosen) => seenSent(await handOver(side, chosen)),
  (side, { to, task }) => lookInto(side, to, task),
]);

/** Work of one task from everybody, so that it has to wait in line. */
const lineUp = inParts("line up", fc.record({ to: known, task }), [
  ...NAMES.map(
    (from) => async (side: Side, chosen: { to: string; task: string }) =>
      seenSent(await handOver(side, { from, ...chosen })),
  ),
  async (side, { to, task }) => keep(side, await agentOf(side, to)?.accept({ task })),
]);

const resume = step(
  "resume",
  fc.record({ by: known, work: number }),
  async (side, { by, work }) => {
    const held = pick(side.works, work, 3);
    if (held === undefined) return NOTHING;
    return keep(side, await agentOf(side, by)?.resume(held.handle));
  },
);

const accept = step(
  "accept",
  fc.record({ by: name, task: rarely(task), delivery: rarely(number) }),
  async (side, { by, task, delivery }) => {
    const id = delivery === undefined ? undefined : pick(side.deliveries, delivery);
    const which = { ...(task && { task }), ...(id && { delivery: id }) };
    return keep(side, await agentOf(side, by)?.accept(which));
  },
);

function keep(side: Side, work: Work | undefined) {
  if (work === undefined) return NOTHING;
  side.works.push(work);
  side.memories.push(work.delivery.acceptedBy);
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

const look = step(
  "look into the inbox",
  fc.record({ by: name, task: rarely(task) }),
  (side, { by, task }) => lookInto(side, by, task),
);

const answer = step(
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

/** Settles; work that its sender has extended since then has the new envelope. */
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

const work = step(
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

const handOn = step(
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

// Time

const advance = step(
  "let time pass",
  fc.oneof(
    fc.integer({ min: 1, max: 10 }),
    fc.integer({ min: 500, max: 4_000 }),
    fc.constantFrom(31_000, LIMITS.leaseMs - 1, LIMITS.leaseMs, -1_000),
  ),
  async (side, ms) => side.clock.advance(ms),
);

const fallSilent = inParts("fall silent", number, [
  async (side) => side.clock.advance(LIMITS.leaseMs),
  async (side, n) => {
    const delivery = pick(side.works, n, 3)?.id;
    const found = delivery && (await side.store.findDelivery(WORKSPACE, delivery));
    if (!found) return NOTHING;
    return keep(side, await agentOf(side, found.delivery.receiver)?.accept({ delivery }));
  },
]);

const reopen = step("reopen", fc.constant(0), async (side) => side.reopen());

// Looking

const recent = step(
  "recent",
  fc.record({
    agent: rarely(receiver),
    task: rarely(task),
    tag: rarely(fc.constantFrom(...TAGS)),
    type: rarely(fc.constantFrom(...TYPES)),
    session: rarely(fc.constantFrom("ada-1", "ben-1", "s")),
    before: rarely(fc.integer({ min: 1, max: 50 })),
    limit: fc.constantFrom(1, 3, 100),
  }),
  async (side, query) =>
    agentOf(side, "ada")?.memories.recent(
      Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)),
    ),
);

const relations = step(
  "relations",
  fc.record({
    memory: number,
    direction: fc.constantFrom("in" as const, "out" as const),
    at: rarely(fc.nat(110)),
    limit: fc.constantFrom(1, 100),
  }),
  async (side, { memory, at, ...query }) =>
    agentOf(side, "ada")?.memories.relations(memoryAt(side, memory), {
      ...query,
      ...(at === undefined ? {} : { at }),
    }),
);

const search = step(
  "search",
  fc.record({ text: words, limit: fc.constantFrom(2, 100) }),
  async (side, { text, limit }) => {
    const { hits, more } = await side.store.search({
      ...{ workspace: WORKSPACE, sight: everybodyOn(BRANCH), filter: {}, limit },
      ranking: {
        ...{
          query: queryOf(text),
          weights: RANKING_WEIGHTS,
          effort: EFFORT,
          now: side.clock.now(),
        },
        ...{ graph: { depth: 2, visits: 20 }, superseded: "marked" as const },
      },
    });
    return {
      more,
      hits: hits.map(({ row, score, pos: _, ...hit }) => [plain(row), score.toFixed(9), hit]),
    };
  },
);

const ask = step(
  "ask",
  fc.record({
    what: fc.constantFrom(
      ...["line", "attempts", "waiting", "events", "agents", "processes"],
      ...["dead", "questions", "breakers"],
    ),
    n: number,
  }),
  async (side, { what, n }) => {
    switch (what) {
      case "line":
        return side.hub.tasks.line(TASKS[n % TASKS.length] as string);
      case "attempts":
        return side.hub.deliveries.attempts(pick(side.deliveries, n) ?? "dlv_none");
      case "waiting":
        return withoutLeases(
          await pagesOf(side, NAMES[n % NAMES.length] as string, {
            limit: 1 + (n % 4),
            ...(n % 5 === 0 ? { task: TASKS[0] as string } : {}),
          }),
        );
      case "events":
        return side.hub.events.list({ after: n % 30, limit: 5 });
      case "dead":
        return side.hub.deadLetters.list();
      case "questions":
        return agentOf(side, NAMES[n % NAMES.length] as string)?.questions.list();
      case "breakers":
        return side.hub.agents.breakers();
      case "processes":
        return [...(await side.store.listProcesses(WORKSPACE))].sort();
      default:
        return side.hub.agents.list();
    }
  },
);

/** All that waits, page by page. */
async function pagesOf(side: Side, who: string, query: { limit: number; task?: string }) {
  const pages: (readonly Waiting[])[] = [];
  for (let after: DeliveryRow | undefined; ; ) {
    const page = (await agentOf(side, who)?.deliveries.waiting({ ...query, after })) ?? [];
    pages.push(page);
    const last = page.at(-1);
    if (last === undefined) return pages;
    after = last.delivery;
  }
}

/** A call renews its session's leases beside what it does: who answers in between may not know yet. */
const withoutLeases = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer, (key, value) => (key === "leaseUntil" ? undefined : value)));

/** Writes of one turn: in SQLite they share a transaction, and must not notice. */
const turn = fc
  .array(fc.oneof(rememberOne(plainMemory), rememberSome(plainMemory), ...PAST_THE_HUB), {
    minLength: 2,
    maxLength: 6,
  })
  .map(
    (writes): Step => ({
      title: `in one turn: ${writes.map((each) => each.title).join("; ")}`,
      burst: true,
      past: true,
      parts: [
        async (side) => {
          const prepared: (() => Promise<unknown>)[] = [];
          for (const each of writes) prepared.push(await each.prepare(side));
          const answers = await side.inOneTurn(prepared.map((submit) => () => outcomeOf(submit())));
          return answers.map(withoutLeases);
        },
      ],
    }),
  );

/** How often each step is taken, compared with the others. */
const WEIGHTS: readonly (readonly [number, fc.Arbitrary<Step>])[] = [
  [2, register],
  [2, enable],
  [1, openAgent],
  [3, alone(remember)],
  [2, alone(rememberMany)],
  [1, pin],
  [4, handoff],
  [4, handoffAgain],
  [5, start],
  [3, offer],
  [3, lineUp],
  [1, resume],
  [3, accept],
  [2, look],
  [4, answer],
  [9, work],
  [4, handOn],
  [3, advance],
  [3, fallSilent],
  [1, reopen],
  [1, recent],
  [1, relations],
  [1, search],
  [2, ask],
  [3, handoffApart],
  [2, publish],
  [4, decide],
  [2, pause],
  [3, carryOut],
  [3, clarify],
  [3, alone(settleWith)],
  [2, alone(useLease)],
  [3, alone(claimMany)],
  [1, alone(renewSession)],
  [4, alone(send)],
  [6, alone(move)],
  [2, alone(putEntry)],
  [2, lookPast],
  [4, turn],
];

export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  ...WEIGHTS.map(([weight, arbitrary]) => ({ weight, arbitrary })),
);
