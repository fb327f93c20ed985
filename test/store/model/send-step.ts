/** The step that sends a handoff directly to the store, with every option that a hub may use. */

import fc from "fast-check";
import {
  type CheckedDraft,
  DraftSchema,
  type Envelope,
  receiverOf,
} from "../../../src/envelope/schema.ts";
import { seal } from "../../../src/envelope/seal.ts";
import { DEFAULT_VERSIONS } from "../../../src/envelope/versions.ts";
import { type HubFields, writeRecord } from "../../../src/memory/record.ts";
import {
  BREAKER,
  type DeliveryRow,
  isTaken,
  type NewMemory,
  OPEN_STATES,
  publicationMark,
  type TrailStep,
} from "../../../src/store/rows.ts";
import type { SendHandoff, SendOutcome } from "../../../src/store/store.ts";
import { MAIN_BRANCH } from "../../../src/store/visibility.ts";
import { HERE, LIMITS, type Side, WORKSPACE } from "./side.ts";
import { known, name, onceIn, rarely, task, write } from "./step.ts";

const newDelivery = fc.record({
  ahead: fc.constantFrom(0, 0, 2, 1_000_000, -1_000_000),
  state: fc.constantFrom("ready" as const, "ready" as const, "scheduled" as const, "dead" as const),
  delayMs: fc.constantFrom(0, 400, 3_000),
  lapseMs: fc.constantFrom(0, 0, 300, 50_000),
  maxAttempts: fc.constantFrom(1, 2, 3),
});

/** An idempotency key, sometimes as if it had been used before. */
const key = fc.record({
  name: fc.constantFrom("k1", "k2", "k3"),
  basedOn: fc.constantFrom(0, 0, 1),
});

/** Usually a receiver that can accept. */
export const reachable = fc.oneof(
  { weight: 9, arbitrary: known },
  { weight: 3, arbitrary: fc.constantFrom("role:any", "role:any", "role:coder") },
  { weight: 1, arbitrary: fc.constant("nobody") },
);

const handoff = fc.record({
  from: name,
  to: fc.uniqueArray(reachable, { minLength: 1, maxLength: 3 }),
  task,
  delivery: newDelivery,
  /** On a task of its own, so that nothing extends it, with a deadline. */
  deadlineMs: onceIn(4, fc.constantFrom(1, 500)),
  key: rarely(key),
  breaker: onceIn(5, fc.constantFrom(0, 1)),
  extends: fc.constantFrom(true, true, true, false),
});

type Choice = typeof handoff extends fc.Arbitrary<infer Value> ? Value : never;

export const send = write("send", handoff, async (side, choice) => {
  const operation = await operationOf(side, choice);
  return async () => {
    const outcome = await side.store.sendHandoff(operation);
    if (outcome.kind === "sent") noteSent(side, operation, outcome);
    return outcome;
  };
});

/** Several handoffs in one operation, each about a task of its own for its receivers. */
export const sendMany = write(
  "send many",
  fc.array(handoff, { minLength: 2, maxLength: 4 }),
  async (side, choices) => {
    const operations: SendHandoff[] = [];
    const taken = new Set<string>();
    for (const choice of choices) {
      const operation = await operationOf(side, choice);
      const { deliveries, envelope, entries = [] } = operation;
      const keys = [
        ...deliveries.map(({ receiver }) => `${receiver} ${envelope.task}`),
        ...entries.map(({ kind, name }) => `${kind} ${name}`),
      ];
      if (!keys.some((each) => taken.has(each))) operations.push(operation);
      for (const each of keys) taken.add(each);
    }
    return async () => {
      const outcome = await side.store.sendHandoffs(operations);
      if (outcome.kind !== "sent") return outcome;
      for (const [i, operation] of operations.entries()) {
        noteSent(side, operation, outcome.sent[i] as SentOutcome);
      }
      return outcome;
    };
  },
);

type SentOutcome = Extract<SendOutcome, { kind: "sent" }>;

function noteSent(side: Side, { memory, envelope, extend }: SendHandoff, sent: SentOutcome): void {
  side.memories.push(memory.id);
  side.envelopes.push(envelope.id);
  if (!extend?.held) side.deliveries.push(...sent.deliveries.map(({ id }) => id));
}

async function operationOf(side: Side, choice: Choice): Promise<SendHandoff> {
  const { from, to, deadlineMs } = choice;
  const [only, ...others] = to;
  const single = others.length === 0 ? (only as string) : undefined;
  const task = deadlineMs ? `apart ${side.deliveries.length}` : choice.task;
  const open = single === undefined ? undefined : await openWork(side, { from, to: single, task });
  const extend = open && choice.extends ? extensionOf(open) : undefined;
  const revision = single === undefined ? 0 : await breakerOf(side, single);
  const deadline = deadlineMs ? side.clock.now() + deadlineMs : 0;
  const deliveries = to.map((receiver) => ({
    id: side.ids.mint("delivery"),
    receiver,
    ...choice.delivery,
    reason: "{}",
    deadline,
  }));
  const sealed = sealFor(side, { from, to, task, deadline, extend });
  const begins: TrailStep = single
    ? extend?.held
      ? { attempt: open?.attempt ?? 0, delivery: extend.delivery, verb: "extend" }
      : {
          attempt: 0,
          delivery: deliveries[0]?.id ?? "",
          ...(extend && { instead: extend.delivery }),
          verb: "send",
        }
    : {
        deliveries: deliveries.map(({ id, receiver }) => [id, receiver] as const),
        verb: "publish",
      };
  return {
    ...HERE,
    memory: decisionOf(side, from, { task, trail: [begins], envelope: sealed.hallmark }),
    envelope: sealed.envelope,
    deliveries,
    parent: single ? "" : publicationMark(sealed.envelope.id),
    breaker: choice.breaker ?? revision,
    ...(extend && { extend }),
    ...(choice.key && { entries: [{ kind: "key", value: "1", ...choice.key }] }),
  };
}

const extensionOf = (open: DeliveryRow): NonNullable<SendHandoff["extend"]> => ({
  delivery: open.id,
  envelope: open.envelope,
  held: isTaken(open.state),
});

async function openWork(side: Side, work: { from: string; to: string; task: string }) {
  const which = {
    workspace: WORKSPACE,
    receivers: [work.to],
    states: OPEN_STATES,
    task: work.task,
  };
  const open = await side.store.listDeliveries({ ...which, limit: 100 });
  const same = open.find(
    ({ delivery: { sender, parent } }) => sender === work.from && parent === "",
  );
  return same?.delivery;
}

async function breakerOf(side: Side, receiver: string): Promise<number> {
  return (await side.store.findEntry(WORKSPACE, BREAKER, receiver))?.revision ?? 0;
}

function sealFor(
  side: Side,
  about: {
    readonly from: string;
    readonly to: readonly string[];
    readonly task: string;
    readonly deadline: number;
    readonly extend: SendHandoff["extend"];
  },
) {
  const { from, task, deadline, extend } = about;
  const [only, ...others] = about.to;
  const to: Envelope["to"] =
    others.length > 0
      ? { kind: "channel", channel: "news" }
      : (receiverOf(only as string) as Envelope["to"]);
  const parents = extend ? [extend.envelope] : [];
  const draft: CheckedDraft = DraftSchema.parse({ to, task, intent: "past the hub" });
  const { envelope, text, digest } = seal(draft, {
    id: side.ids.mint("envelope"),
    workspace: WORKSPACE,
    task,
    from: { agent: from, instance: `${from}-9` },
    to,
    parents,
    refs: [],
    hop: 0,
    createdAt: side.clock.now(),
    limits: LIMITS,
    versions: DEFAULT_VERSIONS,
    policy: deadline === 0 ? undefined : { deadline },
  });
  return {
    envelope: { id: envelope.id, task, sender: from, text, parents },
    hallmark: { digest, id: envelope.id },
  };
}

export function decisionOf(
  side: Side,
  agent: string,
  { task, ...hallmark }: HubFields & { readonly task: string },
): NewMemory {
  const context = {
    ids: side.ids,
    now: side.clock.now(),
    limits: LIMITS,
    branch: MAIN_BRANCH,
    hallmark,
  };
  const content = hallmark.trail?.[0]?.verb ?? "decided";
  const type = hallmark.envelope ? "handoff" : "decision";
  return writeRecord({ agent, instance: `${agent}-9` }, { type, content, task }, context).record;
}
