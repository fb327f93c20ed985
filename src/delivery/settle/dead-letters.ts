/**
 * Dead letters: lists deliveries that were given up, redrives them (with changes if needed), and discards
 * them.
 */

import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { checkLimit } from "../../base/limits.ts";
import { type Page, pageOf } from "../../base/page.ts";
import { enforceLintRulesOnFields } from "../../context/lint/lint-settings.ts";
import type { DetectedSecret } from "../../envelope/mask-secrets.ts";
import { AgentName, DraftSchema, type Envelope, Name } from "../../envelope/schema.ts";
import { reseal, type SealedEnvelope } from "../../envelope/seal.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { type Attempt, attemptOf } from "../../history/attempt.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { GIVEN_UP_STATES, openReportOf } from "../../history/failure-decisions.ts";
import { parseDeliveryId, unknownDelivery } from "../../history/unknown-delivery.ts";
import { entriesForReopening } from "../../ledger/closed-tasks.ts";
import { carryEdits, refreshCarriedFields } from "../../ledger/reseal.ts";
import { findAddressee } from "../../memory/agents.ts";
import type { Author, MemoryInput } from "../../memory/record.ts";
import { runWithoutSecrets } from "../../memory/redaction/secret-policy.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { DeliveryRow } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow, Move, PutEntry } from "../../store/store.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import {
  decisionRecord,
  guardOf,
  moveDeliveries,
  newEnvelopeOf,
  trailStepOf,
} from "../due/moves.ts";
import { enforcePayload } from "../send/require-registered.ts";
import { AT_ONCE_MS, FOREVER_MS, lapse } from "../settings/policy.ts";
import { cursorOf, InboxCursor, parseCursor } from "../watch/inbox-listing.ts";
import { checkReason } from "./reason.ts";

/** Filters and page of a dead letter listing. */
export const DeadLetterQuerySchema = z.strictObject({
  /** The `next` of the previous page. */
  after: InboxCursor.optional(),
  limit: z.int().positive().optional(),
  receiver: z.string().optional(),
  sender: AgentName.optional(),
  task: Name.optional(),
});
/** Filters and page of a dead letter listing. */
export type DeadLetterQuery = z.input<typeof DeadLetterQuerySchema>;

/** A delivery that was given up. */
export interface DeadLetter {
  readonly delivery: Delivery;
  readonly envelope: Envelope;
  /** Every attempt with its reason, oldest first. */
  readonly attempts: readonly Attempt[];
}

/** Returns a page of dead letters; default and largest limit: `limits.pageSize`. */
export async function listDeadLetters(
  workspace: Workspace,
  query: DeadLetterQuery,
): Promise<Page<DeadLetter>> {
  const { name, limits, store } = workspace;
  const {
    after,
    limit = limits.pageSize,
    ...filter
  } = parseOrThrow(DeadLetterQuerySchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  checkLimit(limits, "pageSize", { actual: limit, path: "limit" });
  const dead = await store.listParked({
    workspace: name,
    state: "dead",
    limit: limit + 1,
    ...definedFields({ ...filter, after: after && parseCursor(after) }),
  });
  const { items, ...rest } = pageOf(dead, limit, ({ delivery }) => cursorOf(delivery));
  const letters = await Promise.all(
    items.map(async ({ delivery, envelope }) => ({
      delivery: deliveryOf(delivery),
      envelope: parseEnvelope(workspace, envelope),
      attempts: (await store.readAttempts(name, delivery.id)).map(attemptOf),
    })),
  );
  return { ...rest, items: letters };
}

/** Returns the object without undefined fields. */
const definedFields = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** Changes that a redrive can make; all other fields stay as they were sealed. */
export const RedriveSchema = z.strictObject({
  /** Another receiver: an agent or a role. */
  to: z.string().optional(),
  next: z.array(z.string()).optional(),
  state: z.string().optional(),
  payload: z.strictObject({ data: z.record(z.string(), z.unknown()), type: Name }).optional(),
  constraints: DraftSchema.shape.constraints.unwrap().optional(),
});
/** Changes that a redrive makes to the handoff. */
export type RedriveChanges = z.input<typeof RedriveSchema>;

/**
 * Redrives a delivery that was given up, with a full set of attempts and, if its deadline has passed, without
 * one. With changes, a new envelope replaces the old one, which is kept. Throws `not_open`.
 */
export async function redrive(
  workspace: Workspace,
  by: Author,
  id: string,
  changes: RedriveChanges = {},
): Promise<DeliveryRow> {
  const again = await checkRedrive(workspace, changes);
  const tried = await decide(workspace, id, GIVEN_UP_STATES, (dead) =>
    redriveOne(workspace, by, dead, again),
  );
  await withdrawReport(workspace, tried);
  return tried;
}

/** Withdraws the open failure report. If this process dies first, the hub does it later. */
async function withdrawReport(workspace: Workspace, settled: DeliveryRow): Promise<void> {
  await runFollowUp(`report of ${settled.id}`, async () => {
    const report = await openReportOf(workspace, settled);
    if (report !== undefined) await workspace.duties.coordinate(workspace, report);
  });
}

/** Validated changes of a redrive. */
export interface CheckedRedrive {
  readonly receiver: string | undefined;
  readonly edits: RedriveEdits;
  /** Secrets that were redacted from the changes. */
  readonly redacted?: readonly DetectedSecret[];
}

/**
 * Checks the changes of a redrive, applying the secret policy. Throws `invalid_input` and `invalid_payload`.
 */
export function checkRedrive(
  workspace: Workspace,
  changes: RedriveChanges,
): Promise<CheckedRedrive> {
  return runWithoutSecrets(workspace, changes, async (redactedChanges, redacted) => ({
    ...(await parseRedrive(workspace, redactedChanges)),
    redacted,
  }));
}

async function parseRedrive(
  workspace: Workspace,
  changes: RedriveChanges,
): Promise<CheckedRedrive> {
  const { to, payload, ...rest } = parseOrThrow(RedriveSchema, changes, {
    code: "invalid_input",
    what: "The changes",
  });
  const receiver = to === undefined ? undefined : await inboxOf(workspace, to);
  const checked = payload && (await enforcePayload(workspace, payload));
  return { receiver, edits: definedFields({ ...rest, payload: checked }) };
}

async function inboxOf(workspace: Workspace, address: string): Promise<string> {
  if (address.startsWith("role:")) return address;
  return (await findAddressee(workspace, address))?.id ?? address; // The store refuses an unknown agent.
}

type RedriveEdits = Omit<z.output<typeof RedriveSchema>, "to"> & Partial<Pick<Envelope, "policy">>;

interface RedriveEnvelope {
  readonly sealed?: SealedEnvelope;
  /** Returns the entry that updates the task's ledger; undefined if nothing changes. */
  readonly kept?: (by: string, record: string) => PutEntry | undefined;
  readonly flagged?: boolean;
}

async function sealEdits(
  workspace: Workspace,
  from: Envelope,
  { edits, redacted }: Pick<CheckedRedrive, "edits" | "redacted">,
): Promise<RedriveEnvelope> {
  const { changes, entry } = await carryEdits(workspace, from, edits);
  const sealed = sealAgain(workspace, from, { ...edits, ...changes });
  await enforceLintRulesOnFields(workspace, sealed.envelope, {
    fields: Object.keys(edits),
    redacted,
  });
  const { id: envelope, metadata } = sealed.envelope;
  return {
    sealed,
    kept: (by, record) => entry({ at: metadata.createdAt, by, envelope, record }),
    flagged: changes.flags !== undefined,
  };
}

/** Seals the envelope with what the task's ledger holds now; empty if nothing has changed. */
async function sealLedgerChanges(workspace: Workspace, from: Envelope): Promise<RedriveEnvelope> {
  const {
    constraints = from.constraints,
    decisions = from.decisions,
    ...rest
  } = await refreshCarriedFields(workspace, from);
  const isSame =
    rest.flags === undefined &&
    isDeepStrictEqual([constraints, decisions], [from.constraints, from.decisions]);
  return isSame ? {} : { sealed: sealAgain(workspace, from, { ...rest, constraints, decisions }) };
}

function sealAgain(workspace: Workspace, from: Envelope, changes: object): SealedEnvelope {
  const metadata = { ...from.metadata, createdAt: workspace.clock.now() };
  const next = { id: workspace.ids.mint("envelope"), parents: [from.id], metadata };
  return reseal(from, { ...changes, ...next }, workspace);
}

/** What a redrive records in addition if it was decided about a failure. */
export interface RedriveDecision {
  readonly record: Pick<MemoryInput, "content" | "data" | "id" | "relations" | "type">;
  readonly entries: readonly PutEntry[];
  readonly delayMs?: number | undefined;
}

/** Redrives one delivery; undefined if it, or an entry, changed since it was read. */
export async function redriveOne(
  workspace: Workspace,
  by: Author,
  { delivery, envelope: row }: DeliveryWithEnvelopeRow,
  { receiver, edits, redacted, ...decided }: CheckedRedrive & Partial<RedriveDecision>,
): Promise<readonly DeliveryRow[] | undefined> {
  const from = parseEnvelope(workspace, row);
  const { sealed, kept, flagged } =
    Object.keys(edits).length === 0
      ? await sealLedgerChanges(workspace, from)
      : await sealEdits(workspace, from, { edits, ...(redacted && { redacted }) });
  const { policy, joins, results, ...rest } = sealed?.envelope ?? from;
  // A delivery that never opened waits again and is rechecked at once.
  const waits = (joins ?? rest.after) !== undefined && results === undefined;
  const record = {
    type: sealed ? "handoff" : "decision",
    task: delivery.task,
    ...(flagged && { tags: ["flagged"] }),
    content: `${by.agent} redrove "${delivery.task}"${receiver ? ` to ${receiver}` : ""}.`,
    relations: [{ kind: "continues-from" as const, to: row.memory }],
    ...decided.record,
  };
  const { delayMs = 0 } = decided;
  const trail = [trailStepOf(delivery, "redrive", receiver)];
  const isOver = delivery.deadline !== 0 && delivery.deadline <= workspace.clock.now();
  const move: Move = {
    delivery: delivery.id,
    seen: guardOf(delivery),
    ...(waits
      ? { to: "scheduled", delayMs: FOREVER_MS, lapseMs: AT_ONCE_MS }
      : { to: delayMs > 0 ? "scheduled" : "ready", delayMs, lapseMs: lapse(policy, delayMs) }),
    event: "redriven",
    maxAttempts: delivery.attempt + (policy?.attempts ?? workspace.limits.attempts),
    ...((isOver || edits.policy) && { deadline: edits.policy?.deadline ?? 0 }),
    ...(receiver !== undefined && { receiver }),
  };
  const memory = decisionRecord(workspace, by, record, { trail, sealed });
  const entry = kept?.(by.agent, memory.id);
  // Throws if the task is closed: work of a closed task cannot be redriven.
  const open = await entriesForReopening(workspace, delivery.task);
  const entries = eachOnce([...(entry ? [entry] : []), ...open, ...(decided.entries ?? [])]);
  return moveDeliveries(workspace, {
    agent: by.agent,
    memory,
    ...(sealed && { envelope: newEnvelopeOf(sealed) }),
    ...(entries.length > 0 && { entries }),
    moves: [move],
  });
}

/** Keeps the first entry of each kind and name. */
const eachOnce = (entries: readonly PutEntry[]): PutEntry[] =>
  entries.filter(
    ({ kind, name }, i) =>
      entries.findIndex((each) => each.kind === kind && each.name === name) === i,
  );

/** Gives up a dead letter permanently, with a reason. Throws `not_open` if it is not dead. */
export async function discard(
  workspace: Workspace,
  by: Author,
  id: string,
  reason: string,
): Promise<DeliveryRow> {
  const why = await runWithoutSecrets(workspace, { reason }, async (said) =>
    checkReason(said.reason),
  );
  const dropped = await decide(workspace, id, ["dead"], async ({ delivery, envelope }) => {
    const record = {
      type: "decision",
      task: delivery.task,
      content: `${by.agent} discarded "${delivery.task}": ${why}`,
      data: { reason: why },
      relations: [{ kind: "continues-from" as const, to: envelope.memory }],
    };
    const trail = [trailStepOf(delivery, "discard")];
    return moveDeliveries(workspace, {
      agent: by.agent,
      memory: decisionRecord(workspace, by, record, { trail }),
      moves: [{ delivery: id, seen: guardOf(delivery), to: "cancelled", event: "discarded" }],
    });
  });
  await withdrawReport(workspace, dropped);
  return dropped;
}

/** Decides about a delivery in one of the states; retries if it changed meanwhile. */
async function decide(
  { store, name }: Workspace,
  id: string,
  states: readonly DeliveryRow["state"][],
  decision: (found: DeliveryWithEnvelopeRow) => Promise<readonly DeliveryRow[] | undefined>,
): Promise<DeliveryRow> {
  return retryWrite({ what: "The decision was overtaken", attempts: 10 }, async () => {
    const found = await store.findDelivery(name, parseDeliveryId(id));
    if (found === undefined) throw unknownDelivery(id);
    if (!states.includes(found.delivery.state)) throw notDead(found.delivery, states);
    const [moved] = (await decision(found)) ?? [];
    return moved ?? RETRY;
  });
}

function notDead({ id, state }: DeliveryRow, states: readonly string[]): BatonError {
  return new BatonError("not_open", {
    message: `${id} is ${state}; expected ${states.join(" or ")}.`,
    path: "delivery",
    hint: "List the dead letters: hub.deadLetters.list().",
    details: { delivery: id, state },
  });
}
