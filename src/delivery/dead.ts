/** Dead letters: what was given up, with every try; tried again, tried with another envelope, dropped. */
import * as z from "zod";
import { AgentName, DraftSchema, type Envelope, Name } from "../envelope/schema.ts";
import { constraintOf, resealed, type SealedEnvelope } from "../envelope/seal.ts";
import { parseOr } from "../envelope/violations.ts";
import { BatonError } from "../errors.ts";
import { checkLimit } from "../limits.ts";
import { findAddressee } from "../memory/agents.ts";
import type { Author } from "../memory/record.ts";
import type { AttemptRow, DeliveryRow } from "../store/rows.ts";
import type { Claimed, Move } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import { decisionRecord, moveDeliveries, rowOf, seen, stepOf } from "./moves.ts";
import { parseEnvelope } from "./parse-envelope.ts";
import { FOREVER_MS, lapse } from "./policy.ts";
import { checkedReason, overtaken } from "./reason.ts";
import { deliveryId, unknownDelivery } from "./unknown-delivery.ts";
import { InboxCursor } from "./waiting.ts";

const DeadSchema = z.strictObject({
  /** The last delivery of the page before: the cursor for the next page. */
  after: InboxCursor.optional(),
  limit: z.int().positive().optional(),
  receiver: z.string().optional(),
  sender: AgentName.optional(),
  task: Name.optional(),
});
export type DeadQuery = z.input<typeof DeadSchema>;

export interface DeadLetter {
  readonly delivery: DeliveryRow;
  readonly envelope: Envelope;
  /** Every try, first to last, with why it ended. */
  readonly attempts: readonly AttemptRow[];
}

const ROUNDS = 10;

export async function deadLetters(
  workspace: Workspace,
  query: DeadQuery,
): Promise<readonly DeadLetter[]> {
  const { name, limits, store } = workspace;
  const { limit = limits.pageSize, ...filter } = parseOr(DeadSchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  checkLimit(limits, "pageSize", { actual: limit, path: "limit" });
  const dead = await store.listParked({ workspace: name, state: "dead", limit, ...given(filter) });
  return Promise.all(
    dead.map(async ({ delivery, envelope }) => ({
      delivery,
      envelope: parseEnvelope(envelope),
      attempts: await store.readAttempts(name, delivery.id),
    })),
  );
}

/** Only what was said: an undefined field says nothing. */
const given = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** What may be said anew about a handoff that is tried again. The rest stays as it was sealed. */
const ChangesSchema = z.strictObject({
  /** Another agent gets it, or a role. */
  to: z.string().optional(),
  next: z.array(z.string()).optional(),
  state: z.string().optional(),
  payload: z.strictObject({ data: z.record(z.string(), z.unknown()), type: Name }).optional(),
  constraints: DraftSchema.shape.constraints.unwrap().optional(),
});
export type RedriveChanges = z.input<typeof ChangesSchema>;

/**
 * Tries it again, with as many tries as at first and without its deadline if that has passed. With
 * changes, a new envelope takes the place of the old one, which stays as it was.
 */
export async function redrive(
  workspace: Workspace,
  by: Author,
  id: string,
  changes: RedriveChanges = {},
): Promise<DeliveryRow> {
  const { to, payload, ...rest } = parseOr(ChangesSchema, changes, {
    code: "invalid_input",
    what: "The changes",
  });
  const receiver = to === undefined ? undefined : await inboxOf(workspace, to);
  const checked = payload && (await workspace.payloads.enforce(payload));
  const constraints = rest.constraints?.map(constraintOf);
  const edits = given({ ...rest, constraints, payload: checked });
  return decide(workspace, id, ["dead", "expired"], async (dead) => {
    const sealed = Object.keys(edits).length === 0 ? undefined : edited(workspace, dead, edits);
    return redriveOne(workspace, by, dead, { receiver, sealed });
  });
}

async function inboxOf(workspace: Workspace, address: string): Promise<string> {
  if (address.startsWith("role:")) return address;
  return (await findAddressee(workspace, address))?.id ?? address; // The store refuses a stranger.
}

function edited(
  { ids, limits, clock }: Workspace,
  { envelope: row }: Claimed,
  edits: object,
): SealedEnvelope {
  const from = parseEnvelope(row);
  const metadata = { ...from.metadata, createdAt: clock.now() };
  return resealed(
    from,
    { ...edits, id: ids.mint("envelope"), parents: [from.id], metadata },
    limits,
  );
}

interface Redriving {
  readonly receiver: string | undefined;
  readonly sealed: SealedEnvelope | undefined;
}

async function redriveOne(
  workspace: Workspace,
  by: Author,
  { delivery, envelope: row }: Claimed,
  { receiver, sealed }: Redriving,
) {
  const { policy, joins, results } = sealed?.envelope ?? parseEnvelope(row);
  // One that never opened waits again, and is looked at at once.
  const waits = joins !== undefined && results === undefined;
  const record = {
    type: sealed ? "handoff" : "decision",
    task: delivery.task,
    content: `${by.agent} has "${delivery.task}" tried again${receiver ? ` by ${receiver}` : ""}.`,
    relations: [{ kind: "continues-from" as const, to: row.memory }],
  };
  const trail = [stepOf(delivery, "redrive", receiver)];
  const isOver = delivery.deadline !== 0 && delivery.deadline <= workspace.clock.now();
  const move: Move = {
    delivery: delivery.id,
    seen: seen(delivery),
    ...(waits
      ? { to: "scheduled", delayMs: FOREVER_MS, lapseMs: 1 }
      : { to: "ready", lapseMs: lapse(policy, 0) }),
    event: "redriven",
    maxAttempts: delivery.attempt + (policy?.attempts ?? workspace.limits.attempts),
    ...(isOver && { deadline: 0 }),
    ...(receiver !== undefined && { receiver }),
  };
  return moveDeliveries(workspace, {
    agent: by.agent,
    memory: decisionRecord(workspace, by, record, { trail, sealed }),
    ...(sealed && { envelope: rowOf(sealed) }),
    moves: [move],
  });
}

/** Gives it up for good, with the reason. */
export async function discard(
  workspace: Workspace,
  by: Author,
  id: string,
  reason: string,
): Promise<DeliveryRow> {
  const why = checkedReason(reason);
  return decide(workspace, id, ["dead"], async ({ delivery, envelope }) => {
    const record = {
      type: "decision",
      task: delivery.task,
      content: `${by.agent} discarded "${delivery.task}": ${why}`,
      data: { reason: why },
      relations: [{ kind: "continues-from" as const, to: envelope.memory }],
    };
    const trail = [stepOf(delivery, "discard")];
    return moveDeliveries(workspace, {
      agent: by.agent,
      memory: decisionRecord(workspace, by, record, { trail }),
      moves: [{ delivery: id, seen: seen(delivery), to: "cancelled", event: "discarded" }],
    });
  });
}

/** Decides about a delivery in one of the states, again when somebody changed it meanwhile. */
async function decide(
  { store, name }: Workspace,
  id: string,
  states: readonly DeliveryRow["state"][],
  decision: (found: Claimed) => Promise<readonly DeliveryRow[] | undefined>,
): Promise<DeliveryRow> {
  for (let round = 0; round < ROUNDS; round++) {
    const found = await store.findDelivery(name, deliveryId(id));
    if (found === undefined) throw unknownDelivery(id);
    if (!states.includes(found.delivery.state)) throw notDead(found.delivery, states);
    const [moved] = (await decision(found)) ?? [];
    if (moved !== undefined) return moved;
  }
  throw overtaken("The decision", ROUNDS);
}

function notDead({ id, state }: DeliveryRow, states: readonly string[]): BatonError {
  return new BatonError("not_open", {
    message: `${id} is ${state}, not ${states.join(" or ")}.`,
    path: "delivery",
    hint: "hub.dead() lists dead letters.",
    details: { delivery: id, state },
  });
}
