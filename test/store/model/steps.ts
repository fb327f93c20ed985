/**
 * Every step a random run is made of: what agents do through the hub, and what only somebody with
 * the store in hand could do (old fences, guessed leases, many writes in one turn). A step picks
 * whom and what it is about by number, from what its side has seen so far; so the same step means
 * the same on both sides.
 */
import fc from "fast-check";
import {
  type Agent,
  generateKey,
  type MemoryInput,
  type Offer,
  type Sent,
  type Waiting,
  type Work,
} from "../../../src/index.ts";
import { RELATION_KINDS, writeRecord } from "../../../src/memory/record.ts";
import { HELD_STATES, type NewMemory, type TrailStep } from "../../../src/store/rows.ts";
import type { Claimed, Lease, Settlement } from "../../../src/store/store.ts";
import { wordsOf } from "../../../src/store/words.ts";
import { plain } from "./dump.ts";
import {
  BRANCH,
  type Handover,
  LIMITS,
  NAMES,
  outcomeOf,
  PROCESSES,
  type Side,
  sessionOf,
  WORKSPACE,
} from "./side.ts";

export interface Step {
  readonly title: string;
  /** True when one step may take a delivery through several states. */
  readonly burst?: boolean;
  /** Usually one; compared and watched one by one. */
  readonly parts: readonly ((side: Side) => Promise<unknown>)[];
}

const NOTHING = "nothing to do";
const NO_MEMORY = "mem_00000000-0000-7000-8000-000000000000";
const NO_ENVELOPE = "env_00000000-0000-7000-8000-000000000000";
const KEYS = [generateKey(), generateKey()];
const TASKS = ["t1", "t2"];
const TAGS = ["red", "blue"];
const TYPES = ["fact", "plan", "handoff", "decision"];

// What steps are about

const number = fc.nat(1_000);
/** A value once in so many times, else nothing. */
const onceIn = <T>(times: number, value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof(
    { weight: times - 1, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: value },
  );
const rarely = <T>(value: fc.Arbitrary<T>) => onceIn(4, value);
const known = fc.constantFrom(...NAMES);
const name = fc.oneof(
  { weight: 9, arbitrary: known },
  { weight: 1, arbitrary: fc.constant("dot") },
);
/** Mostly somebody who exists; aliases and strangers too. */
const receiver = fc.oneof(
  { weight: 8, arbitrary: known },
  { weight: 1, arbitrary: fc.constantFrom("dot", "x", "nobody") },
);
const task = fc.constantFrom(...TASKS);
const words = fc.constantFrom("apple", "banana split", "Crème brûlée", "日本 2026", "apple banana");

/** One of the newest few. */
function pick<Item>(items: readonly Item[], n: number, newest = 8): Item | undefined {
  return items.length === 0 ? undefined : items.at(-1 - (n % Math.min(items.length, newest)));
}

const memoryAt = (side: Side, n: number): string =>
  (n % 20 === 0 ? undefined : pick(side.memories, n)) ?? NO_MEMORY;

const envelopeAt = (side: Side, n: number): string =>
  (n % 20 === 0 ? undefined : pick(side.envelopes, n)) ?? NO_ENVELOPE;

const agentOf = (side: Side, who: string): Agent | undefined => side.agents.get(who);

const step = <Args>(
  title: string,
  args: fc.Arbitrary<Args>,
  run: (side: Side, args: Args) => Promise<unknown>,
): fc.Arbitrary<Step> =>
  args.map((chosen) => ({
    title: `${title} ${JSON.stringify(chosen)}`,
    parts: [(side) => run(side, chosen)],
  }));

/** Parts that belong together: random runs would seldom get far without them. */
const inParts = <Args>(
  title: string,
  args: fc.Arbitrary<Args>,
  parts: readonly ((side: Side, args: Args) => Promise<unknown>)[],
): fc.Arbitrary<Step> =>
  args.map((chosen) => ({
    title: `${title} ${JSON.stringify(chosen)}`,
    parts: parts.map((part) => (side: Side) => part(side, chosen)),
  }));

/** A write in two parts: looking up what it needs, and the write itself, submitted at once. */
interface Write {
  readonly title: string;
  prepare(side: Side): Promise<() => Promise<unknown>>;
}

const write = <Args>(
  title: string,
  args: fc.Arbitrary<Args>,
  prepare: (side: Side, args: Args) => Promise<() => Promise<unknown>>,
): fc.Arbitrary<Write> =>
  args.map((chosen) => ({
    title: `${title} ${JSON.stringify(chosen)}`,
    prepare: (side) => prepare(side, chosen),
  }));

const alone = (arbitrary: fc.Arbitrary<Write>): fc.Arbitrary<Step> =>
  arbitrary.map(({ title, prepare }) => ({
    title,
    parts: [async (side) => (await prepare(side))()],
  }));

const idle = async () => NOTHING;

// Agents

const register = step(
  "register",
  fc.record({
    who: name,
    role: rarely(fc.constantFrom("planner", "coder")),
    alias: rarely(fc.constantFrom("ada", "x", "y")),
    status: rarely(fc.constantFrom("active" as const, "active" as const, "disabled" as const)),
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

const remember = write("remember", fc.record({ by: name, memory }), async (side, choice) => {
  const agent = agentOf(side, choice.by);
  const input = inputOf(side, choice.memory);
  if (agent === undefined) return idle;
  return async () => {
    const written = await agent.remember(input);
    side.memories.push(written.id);
    return written;
  };
});

const rememberMany = write(
  "remember many",
  fc.record({ by: name, memories: fc.array(memory, { minLength: 2, maxLength: 4 }) }),
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

const pin = step(
  "pin",
  fc.record({ by: name, memory: number, off: fc.boolean() }),
  async (side, { by, memory, off }) => {
    const agent = agentOf(side, by);
    if (off) await agent?.unpin(memoryAt(side, memory));
    else await agent?.pin(memoryAt(side, memory));
    return agent?.pins() ?? NOTHING;
  },
);

// Handoffs

async function handOver(side: Side, handover: Handover, refs: string[] = []) {
  const { from, task } = handover;
  const sent = await agentOf(side, from)?.handoff({
    intent: `do ${task}`,
    refs,
    ...draft(handover),
  });
  if (sent === undefined) return undefined;
  side.memories.push(sent.memory);
  side.envelopes.push(sent.envelope.id);
  side.handovers.push(handover);
  if (sent.joined !== "extended") side.deliveries.push(sent.id);
  return sent;
}

const draft = ({ from: _, ...rest }: Handover) => rest;

const seenSent = async (sent: Sent | undefined) => {
  if (sent === undefined) return NOTHING;
  const { id, envelope, digest, memory, joined } = sent;
  return { id, envelope, digest, memory, joined, status: await sent.status() };
};

const handover = fc.record({ from: known, to: known, task });

const handoff = step(
  "hand over",
  fc.record({
    from: name,
    to: receiver,
    task,
    ref: rarely(number),
    parent: onceIn(6, number),
  }),
  async (side, { from, to, task, ref, parent }) => {
    const parents = parent === undefined ? {} : { parents: [envelopeAt(side, parent)] };
    const refs = ref === undefined ? [] : [memoryAt(side, ref)];
    return seenSent(await handOver(side, { from, to, task, ...parents }, refs));
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
  side.memories.push(work.acceptedBy);
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
    if (verb === "decline") return offer.decline("not mine");
    if (verb === "release") return offer.release();
    return keep(side, await offer.accept());
  },
);

const seenWork = ({ id, task, envelope, attempt, acceptedBy }: Work) => ({
  id,
  task,
  envelope,
  attempt,
  acceptedBy,
});

const VERBS = [
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
        return held.complete({ summary: "done", outputs: { n } });
      case "fail":
        return held.fail({ message: "no luck" });
      case "fail for good":
        return held.fail({ message: "no way", class: "permanent" });
      case "decline":
        return held.decline("not mine");
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
    const sent = await pick(side.works, n, 3)?.handoff({
      to,
      ...(task && { task }),
      ...(parent === undefined ? {} : { parents: [envelopeAt(side, parent)] }),
    });
    if (sent === undefined) return NOTHING;
    if (sent.kind === "extended") return { kind: sent.kind, envelope: sent.envelope };
    side.memories.push(sent.memory);
    side.envelopes.push(sent.envelope.id);
    if (sent.joined !== "extended") side.deliveries.push(sent.id);
    return seenSent(sent);
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
    agentOf(side, "ada")?.recent(
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
    agentOf(side, "ada")?.relations(memoryAt(side, memory), {
      ...query,
      ...(at === undefined ? {} : { at }),
    }),
);

const search = step(
  "search",
  fc.record({ text: words, limit: fc.constantFrom(2, 100) }),
  async (side, { text, limit }) => {
    const at = { workspace: WORKSPACE, branch: BRANCH };
    const rows = await side.store.searchCandidates({ ...at, words: wordsOf(text), limit });
    return rows.map(plain);
  },
);

const ask = step(
  "ask",
  fc.record({
    what: fc.constantFrom("line", "attempts", "waiting", "events", "agents", "processes"),
    n: number,
  }),
  async (side, { what, n }) => {
    switch (what) {
      case "line":
        return side.hub.line(TASKS[n % TASKS.length] as string);
      case "attempts":
        return side.hub.attempts(pick(side.deliveries, n) ?? "dlv_none");
      case "waiting":
        return pagesOf(side, NAMES[n % NAMES.length] as string, {
          limit: 1 + (n % 4),
          ...(n % 5 === 0 ? { task: TASKS[0] as string } : {}),
        });
      case "events":
        return side.hub.events(n % 30, 5);
      case "processes":
        return [...(await side.store.listProcesses(WORKSPACE))].sort();
      default:
        return side.hub.agents();
    }
  },
);

/** All that waits, page by page. */
async function pagesOf(side: Side, who: string, query: { limit: number; task?: string }) {
  const pages: (readonly Waiting[])[] = [];
  for (let after = 0; ; ) {
    const page = (await agentOf(side, who)?.waiting({ ...query, after })) ?? [];
    pages.push(page);
    const last = page.at(-1);
    if (last === undefined) return pages;
    after = last.delivery.place;
  }
}

// Past the hub: whoever has an old or a guessed lease in hand

const lease = fc.record({
  delivery: number,
  /** Added to the fence as it is now: mostly the right one or the one before. */
  fence: fc.constantFrom(0, 0, -1),
  /** Which envelope the holder claims to know. */
  envelope: fc.constantFrom(
    "current" as const,
    "current" as const,
    "none" as const,
    "other" as const,
  ),
});
type LeaseChoice = typeof lease extends fc.Arbitrary<infer Choice> ? Choice : never;

async function leaseOf(
  side: Side,
  { delivery, fence, envelope }: LeaseChoice,
): Promise<{ lease: Lease; found: Claimed } | undefined> {
  const id = pick(side.deliveries, delivery);
  const found = id && (await side.store.findDelivery(WORKSPACE, id));
  if (!found) return undefined;
  const known = {
    current: found.envelope.id,
    none: "",
    other: pick(side.envelopes, delivery) ?? "",
  }[envelope];
  return {
    found,
    lease: {
      delivery: found.delivery.id,
      fence: found.delivery.fence + fence,
      envelope: known,
      leaseMs: LIMITS.leaseMs,
    },
  };
}

/** A record as the hub would write it: with what it does to the delivery. */
function recordOf(
  side: Side,
  { delivery }: Claimed,
  { verb, data }: { verb?: TrailStep["verb"]; data?: Record<string, unknown> },
): NewMemory {
  const { holder, receiver, instance, id, attempt, task } = delivery;
  const trail = verb === undefined ? [] : [{ attempt, delivery: id, verb }];
  return writeRecord(
    { agent: holder || receiver, instance: instance || "guess" },
    { content: verb ?? "a note", task, ...(data && { data }) },
    { ids: side.ids, now: side.clock.now(), limits: LIMITS, hallmark: { trail } },
  ).record;
}

const ENDINGS = {
  completed: "complete",
  declined: "decline",
  failed: "fail",
  released: "release",
} as const satisfies Record<Settlement["kind"], TrailStep["verb"]>;

const REASON = { message: "guess" };

const SETTLEMENTS: readonly Settlement[] = [
  { kind: "completed" },
  { kind: "declined" },
  { kind: "failed", becomes: "ready" },
  { kind: "failed", becomes: "scheduled", delayMs: 700 },
  { kind: "released", becomes: "dead" },
];

/** After the last try there is no next one: a store does not check that, the policy decides it. */
function withinPolicy(settlement: Settlement, { delivery }: Claimed): Settlement {
  const last = delivery.attempt >= delivery.maxAttempts;
  return settlement.kind === "failed" && last ? { kind: "failed", becomes: "dead" } : settlement;
}

const settleWith = write(
  "settle with a lease",
  fc.record({ lease, settlement: fc.constantFrom(...SETTLEMENTS) }),
  async (side, { lease: choice, settlement: chosen }) => {
    const holding = await leaseOf(side, choice);
    if (holding === undefined) return idle;
    const settlement = withinPolicy(chosen, holding.found);
    const completed = settlement.kind === "completed";
    const verb = ENDINGS[settlement.kind];
    const memory = recordOf(side, holding.found, { verb, ...(completed ? {} : { data: REASON }) });
    return () =>
      side.store.settleDelivery({
        workspace: WORKSPACE,
        branch: BRANCH,
        lease: holding.lease,
        from: completed || settlement.kind === "failed" ? ["accepted"] : HELD_STATES,
        settlement,
        reason: completed ? "" : JSON.stringify(REASON),
        ...(settlement.kind === "released" ? {} : { memory }),
      });
  },
);

const useLease = write(
  "use a lease",
  fc.record({ lease, how: fc.constantFrom("renew", "append", "accept") }),
  async (side, { lease: choice, how }) => {
    const holding = await leaseOf(side, choice);
    if (holding === undefined) return idle;
    const { lease, found } = holding;
    const at = { workspace: WORKSPACE, branch: BRANCH };
    const memory = recordOf(side, found, how === "accept" ? { verb: "accept" } : {});
    if (how === "renew") return () => side.store.renewLease(WORKSPACE, lease);
    if (how === "accept") return () => side.store.acceptDelivery({ ...at, lease, memory });
    return () => side.store.appendMemories({ ...at, lease, memories: [memory] });
  },
);

const claimMany = write(
  "claim many",
  fc.record({
    by: name,
    limit: fc.constantFrom(2, 5),
    process: fc.constantFrom("", ...PROCESSES),
    gone: fc.subarray(["", ...PROCESSES]),
  }),
  async (side, { by, limit, process, gone }) =>
    () =>
      side.store.claimDeliveries({
        workspace: WORKSPACE,
        branch: BRANCH,
        receiver: by,
        instance: `${by}-9`,
        publicKey: "",
        limit,
        leaseMs: LIMITS.leaseMs,
        process,
        gone,
      }),
);

const renewSession = write(
  "renew a session",
  fc.record({ agent: known, n: fc.constantFrom(1, 9) }),
  async (side, { agent, n }) => {
    const session = { workspace: WORKSPACE, agent, instance: `${agent}-${n}` };
    return () => side.store.renewSession(session, LIMITS.leaseMs);
  },
);

const rename = write(
  "change a role",
  fc.record({ who: name, role: fc.constantFrom("planner", "coder") }),
  async (side, { who, role }) => {
    const current = await side.store.findAgent(WORKSPACE, who);
    if (current === undefined) return idle;
    const { revision: basedOn, keyedAt: _keyedAt, digest: _digest, ...agent } = current;
    return () =>
      side.store.registerAgent({ workspace: WORKSPACE, agent: { ...agent, role }, basedOn });
  },
);

/** Writes of one turn: in SQLite they share a transaction, and must not notice. */
const turn = fc
  .array(fc.oneof(remember, rememberMany, rename, settleWith, useLease, claimMany, renewSession), {
    minLength: 2,
    maxLength: 6,
  })
  .map(
    (writes): Step => ({
      title: `in one turn: ${writes.map((each) => each.title).join("; ")}`,
      burst: true,
      parts: [
        async (side) => {
          const prepared: (() => Promise<unknown>)[] = [];
          for (const each of writes) prepared.push(await each.prepare(side));
          return side.inOneTurn(prepared.map((submit) => () => outcomeOf(submit())));
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
  [3, alone(settleWith)],
  [2, alone(useLease)],
  [2, alone(claimMany)],
  [1, alone(renewSession)],
  [3, turn],
];

export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  ...WEIGHTS.map(([weight, arbitrary]) => ({ weight, arbitrary })),
);
