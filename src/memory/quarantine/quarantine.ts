/**
 * Quarantines memories: hides them from every query, optionally with everything that builds on them, and
 * notifies holders and receivers of open handoffs that carry any of them. A record on the chain states the
 * agent and the reason, another the lift; the marks that readers check (quarantine-mark.ts) are written in
 * the same operation, so that neither exists without the other.
 *
 * Quarantine also reaches memories private to others, without naming them: the record, which all agents can
 * read, names only what all agents see, and the result only what the caller sees. The others are counted.
 */

import * as z from "zod";
import { canonicalJson } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import { checkLimit, FORMAT_LIMITS } from "../../base/limits.ts";
import { type Page, pageOf } from "../../base/page.ts";
import { AgentName, MemoryId } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { type DeliveryRow, type EventKind, isOpen, type MemoryRow } from "../../store/rows.ts";
import { VIEW_TYPE } from "../../store/search.ts";
import type { Move, PutEntry } from "../../store/store.ts";
import {
  ANONYMOUS_READER,
  isRowInScope,
  MAIN_BRANCH,
  type Reader,
} from "../../store/visibility.ts";
import { RETRY, retryWrite, tryWrite } from "../../workspace/retry.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { listAuthoredIds, type RecordSource } from "../authored-records.ts";
import { unknownMemory } from "../read.ts";
import { type Author, type MemoryInput, memoryOf, writeRecord } from "../record.ts";
import { redactSecrets } from "../redaction/secret-policy.ts";
import { findHiddenIds } from "../reference-visibility.ts";
import { refusalError } from "../refusals.ts";
import { type Carrier, carriersOf, requireRows } from "./blast-radius.ts";
import { chunksOf, downstreamOf } from "./downstream.ts";
import {
  allMarks,
  marksOf,
  parseMark,
  QUARANTINE,
  type QuarantineMark,
} from "./quarantine-mark.ts";
import { requireLiftRight, requireQuarantineRight } from "./quarantine-right.ts";

/** The type of the record that lifts a quarantine. */
export const LIFT = "lift";
/** Memories named in one record, and deliveries notified in one operation. */
const BATCH = 500;
/** Attempts to mark memories that others mark at the same time. */
const ATTEMPTS = 20;

const Since = z.int().min(0).optional();
const ByAgent = z.strictObject({ agent: AgentName, since: Since });
const BySession = z.strictObject({ session: z.string().min(1), since: Since });
const ByRecord = z.strictObject({ record: MemoryId });
const Ids = z.array(MemoryId).min(1);

/** Memories by id, or everything an agent or session wrote, `since` a time in ms since the epoch. */
export type QuarantineTarget =
  | string
  | readonly string[]
  | z.input<typeof ByAgent>
  | z.input<typeof BySession>;

/** The same for quarantined memories, or everything that one quarantine hid, by its record. */
export type LiftTarget = QuarantineTarget | z.input<typeof ByRecord>;

/** Input schema of QuarantineTarget. */
export const QuarantineTargetSchema = z.union([MemoryId, Ids, ByAgent, BySession]);
/** Input schema of LiftTarget. */
export const LiftTargetSchema = z.union([MemoryId, Ids, ByAgent, BySession, ByRecord]);

/** Options of lift(). */
export const LiftSchema = z.strictObject({
  /** Only returns what would be done. Default: false. */
  dryRun: z.boolean().default(false),
});

export type LiftOptions = z.input<typeof LiftSchema>;

/** Options of quarantine(). */
export const QuarantineSchema = LiftSchema.extend({
  /** Whether to include everything that builds on the memories. Default: false. */
  downstream: z.boolean().default(false),
});

export type QuarantineOptions = z.input<typeof QuarantineSchema>;

/** The result of a quarantine or a lift. */
export interface QuarantineResult {
  /** The memories that were quarantined or lifted (with `dryRun`: would be), as far as the caller may see. */
  readonly memories: readonly string[];
  /** The memories that were in that state before, as far as the caller may see. */
  readonly already: readonly string[];
  /** The number of further memories that were quarantined or lifted and that the caller may not see. */
  readonly hidden: number;
  /** The ids of the records on the chain. */
  readonly records: readonly string[];
  /** Open deliveries for which the sender, receiver and holder were notified. */
  readonly deliveries: readonly string[];
}

const Reason = z.string().min(1).max(FORMAT_LIMITS.lineLength);

function checkedReason(reason: string): string {
  const how = { code: "invalid_input", what: "The reason", prefix: "reason" } as const;
  const checked = parseOrThrow(Reason, reason, how);
  canonicalJson(checked, "invalid_input", "reason");
  return checked;
}

/**
 * Quarantines memories. Throws `unknown_memory` for an unknown id, `not_permitted` if the caller may not
 * quarantine one of them, and `limit_exceeded` if more memories build on them than the limits allow to
 * follow; then nothing is quarantined.
 */
export async function quarantine(
  workspace: Workspace,
  by: Author,
  what: QuarantineTarget,
  { reason, ...options }: QuarantineOptions & { readonly reason: string },
): Promise<QuarantineResult> {
  const { reason: why } = await redactSecrets(workspace, { reason: checkedReason(reason) });
  const how = { code: "invalid_input", what: "The options" } as const;
  const { downstream, dryRun } = parseOrThrow(QuarantineSchema, options, how);
  const named = await quarantineTargets(workspace, what);
  const ids = downstream ? await withDownstream(workspace, named) : named;
  const change = { verb: QUARANTINE, reason: why, dryRun } as const;
  return changeMarks(workspace, by, ids, change);
}

/**
 * Lifts a quarantine. Memories that build on the lifted ones stay quarantined until they are lifted too.
 * Throws `not_permitted` if the caller may not lift one of them.
 */
export async function lift(
  workspace: Workspace,
  by: Author,
  what: LiftTarget,
  { reason, ...options }: LiftOptions & { readonly reason: string },
): Promise<QuarantineResult> {
  const { reason: why } = await redactSecrets(workspace, { reason: checkedReason(reason) });
  const how = { code: "invalid_input", what: "The options" } as const;
  const { dryRun } = parseOrThrow(LiftSchema, options, how);
  const named = await listMarkedIds(workspace, what);
  return changeMarks(workspace, by, named, { verb: LIFT, reason: why, dryRun });
}

/** A quarantined memory and its mark. */
export interface QuarantinedMemory extends QuarantineMark {
  readonly memory: string;
}

/** Input of listQuarantined(). */
export const QuarantineQuerySchema = z.strictObject({
  /** The `next` of the previous page. */
  after: z.string().default(""),
  /** Default: 100; at most `pageSize`. */
  limit: z.int().positive().default(100),
});

export type QuarantineQuery = z.input<typeof QuarantineQuerySchema>;

/** Returns the quarantined memories that the reader may see, ordered by id (the order of creation). */
export async function listQuarantined(
  workspace: Workspace,
  query: QuarantineQuery,
): Promise<Page<QuarantinedMemory>> {
  const { store, name, limits } = workspace;
  const how = { code: "invalid_input", what: "The query" } as const;
  const { after: start, limit } = parseOrThrow(QuarantineQuerySchema, query, how);
  checkLimit(limits, "pageSize", { actual: limit, path: "limit" });
  const found: QuarantinedMemory[] = [];
  for (let after = start; ; ) {
    const page = await store.listEntries({ workspace: name, kind: QUARANTINE, after, limit });
    const names = page.map((entry) => entry.name);
    const hidden = await findHiddenIds(workspace, names);
    const seen = page.filter((entry) => !hidden.has(entry.name));
    found.push(...seen.map((entry) => ({ memory: entry.name, ...parseMark(entry) })));
    after = names.at(-1) ?? "";
    if (page.length < limit || found.length > limit) {
      return pageOf(found, limit, ({ memory }) => memory);
    }
  }
}

/** Returns the ids of a target. Throws `unknown_memory` and `unknown_agent`. */
export async function quarantineTargets(
  workspace: Workspace,
  what: QuarantineTarget,
): Promise<string[]> {
  if (isNamed(what)) {
    const ids = checkedIds(workspace, what);
    await requireRows(workspace, ids);
    return ids;
  }
  const ids = await listAuthoredIds(workspace, sourceOf(what));
  checkLimit(workspace.limits, "impactVisits", { actual: ids.length, path: "records" });
  return ids;
}

const isNamed = (what: LiftTarget): what is string | readonly string[] =>
  typeof what === "string" || Array.isArray(what);

const TARGET_PARSE_OPTIONS = { code: "invalid_input", what: "The target" } as const;

function checkedIds({ limits }: Workspace, what: string | readonly string[]): string[] {
  const ids = parseOrThrow(Ids, typeof what === "string" ? [what] : what, {
    ...TARGET_PARSE_OPTIONS,
    prefix: "ids",
  });
  checkLimit(limits, "impactVisits", { actual: ids.length, path: "ids" });
  return [...new Set(ids)];
}

const sourceOf = (what: QuarantineTarget): RecordSource =>
  Object.hasOwn(Object(what), "session")
    ? parseOrThrow(BySession, what, TARGET_PARSE_OPTIONS)
    : parseOrThrow(ByAgent, what, TARGET_PARSE_OPTIONS);

/** Returns the ids to lift, including private and pruned ones that the caller knows by id. */
async function listMarkedIds(workspace: Workspace, what: LiftTarget): Promise<string[]> {
  if (isNamed(what)) {
    const ids = checkedIds(workspace, what);
    const marks = await marksOf(workspace, ids);
    await requireRows(
      workspace,
      ids.filter((id) => !marks.has(id)),
    );
    return ids;
  }
  const isMeant = await targetMatcher(workspace, what);
  const ids: string[] = [];
  for await (const { memory, mark } of allMarks(workspace)) {
    if (isMeant(memory, mark)) ids.push(memory);
  }
  return ids;
}

async function targetMatcher(
  workspace: Workspace,
  what: Exclude<LiftTarget, string | readonly string[]>,
): Promise<(memory: string, mark: QuarantineMark) => boolean> {
  if (!Object.hasOwn(Object(what), "record")) {
    const output = new Set(await listAuthoredIds(workspace, sourceOf(what as QuarantineTarget)));
    return (memory) => output.has(memory);
  }
  const { record } = parseOrThrow(ByRecord, what, TARGET_PARSE_OPTIONS);
  const [row] = await requireRows(workspace, [record]);
  if (row === undefined) throw unknownMemory(workspace, record, "record");
  if (memoryOf(row).type === QUARANTINE) return (_, mark) => mark.record === record;
  throw new BatonError("invalid_input", {
    message: `${record} is not a quarantine record.`,
    path: "record",
    hint: "Pass an id from records of a quarantine's result, or from record of a mark.",
  });
}

/** Adds all downstream memories, or throws: quarantining only some of them would not be safe. */
async function withDownstream(workspace: Workspace, ids: readonly string[]): Promise<string[]> {
  const { impactDepth: depth, impactVisits: limit } = workspace.limits;
  const { reached, cut } = await downstreamOf(workspace, ids, { depth, limit });
  const [first] = cut;
  // Views are not included: being shown a memory does not build on it.
  const came = reached.filter(({ row }) => memoryOf(row).type !== VIEW_TYPE);
  if (first === undefined) return [...ids, ...came.map(({ row }) => row.id)];
  const cutAt = cut.map(({ memory }) => memory);
  const hidden = await findHiddenIds(workspace, cutAt);
  const name = first.why === "depth" ? "impactDepth" : "impactVisits";
  const max = workspace.limits[name];
  throw new BatonError("limit_exceeded", {
    message: `Too many memories build on it: the limit ${name} is ${max}; nothing was quarantined.`,
    path: "downstream",
    hint: `Open the hub with limits: { ${name}: … }, or quarantine without downstream first.`,
    details: { limit: name, max, cut: cutAt.filter((id) => !hidden.has(id)).slice(0, 20) },
  });
}

interface Change {
  readonly verb: typeof QUARANTINE | typeof LIFT;
  readonly reason: string;
  readonly dryRun: boolean;
}

/** Adds or removes marks in batches; memories that are already in that state are skipped. */
async function changeMarks(
  workspace: Workspace,
  by: Author,
  ids: readonly string[],
  change: Change,
): Promise<QuarantineResult> {
  const rows = await rowsOf(workspace, ids);
  await requireRight(workspace, by, { ids, rows, verb: change.verb });
  const carriers = await openCarriers(workspace, rows);
  const isHidden = hiddenFrom(rows, workspace.reader);
  const isPrivate = hiddenFrom(rows, ANONYMOUS_READER);
  const done = { memories: [] as string[], already: [] as string[], records: [] as string[] };
  let hidden = 0;
  const notified: string[] = [];
  let waiting = carriers.map(({ delivery }) => delivery);
  for (const batch of chunksOf(ids, BATCH)) {
    const outcome = await changeBatch(workspace, by, batch, {
      ...change,
      isOpenToAll: (id) => !isPrivate(id),
      notify: waiting.slice(0, BATCH),
    });
    const shown = outcome.memories.filter((id) => !isHidden(id));
    hidden += outcome.memories.length - shown.length;
    done.already.push(...outcome.already.filter((id) => !isHidden(id)));
    done.memories.push(...shown);
    if (outcome.record !== "") done.records.push(outcome.record);
    notified.push(...outcome.notified);
    waiting = waiting.filter(({ id }) => !outcome.notified.includes(id));
  }
  const isChange = done.memories.length + hidden > 0;
  if (isChange && !change.dryRun) {
    for (const { id } of waiting)
      if (await notifyDelivery(workspace, by, id, eventOf(change))) notified.push(id);
  }
  const toNotify = isChange ? waiting.map(({ id }) => id) : [];
  return { ...done, hidden, deliveries: change.dryRun ? toNotify : notified };
}

async function requireRight(
  workspace: Workspace,
  by: Author,
  { ids, rows, verb }: Pick<Change, "verb"> & Targets,
): Promise<void> {
  if (verb === QUARANTINE) return requireQuarantineRight(workspace, by, rows);
  return requireLiftRight(workspace, by, { rows, marks: await marksOf(workspace, ids) });
}

interface Targets {
  readonly ids: readonly string[];
  readonly rows: readonly MemoryRow[];
}

async function rowsOf({ store, name }: Workspace, ids: readonly string[]): Promise<MemoryRow[]> {
  const rows: MemoryRow[] = [];
  for (const chunk of chunksOf(ids)) rows.push(...(await store.readMemories(name, chunk)));
  return rows;
}

/** Returns whether an id is hidden from a reader. A missing row is a pruned trace step, which is public. */
function hiddenFrom(rows: readonly MemoryRow[], reader: Reader): (id: string) => boolean {
  const hidden = new Set(rows.filter((row) => !isRowInScope(row, reader)).map(({ id }) => id));
  return (id) => hidden.has(id);
}

/** Returns the open deliveries that got an envelope with any of these memories. */
async function openCarriers(workspace: Workspace, rows: readonly MemoryRow[]): Promise<Carrier[]> {
  const ids = rows.map(({ id }) => id);
  const bounds = { depth: 1, limit: Number.MAX_SAFE_INTEGER };
  const { reached } = await downstreamOf(workspace, ids, bounds);
  const records = [...reached.map(({ row }) => row), ...rows].map(memoryOf);
  const carriers = await carriersOf(workspace, records);
  return carriers.filter(({ delivery }) => isOpen(delivery.state));
}

interface NotificationPlan {
  /** Deliveries to notify. */
  readonly notify: readonly DeliveryRow[];
  /** Whether the record, which all agents can read, may contain the id. */
  readonly isOpenToAll: (id: string) => boolean;
}

interface Batch {
  readonly memories: readonly string[];
  readonly already: readonly string[];
  /** Empty if there was nothing to do. */
  readonly record: string;
  readonly notified: readonly string[];
}

/** Writes record, marks and events in one operation. Deliveries that change meanwhile are notified later. */
async function changeBatch(
  workspace: Workspace,
  by: Author,
  ids: readonly string[],
  { notify: given, isOpenToAll, ...change }: Change & NotificationPlan,
): Promise<Batch> {
  const { name, store } = workspace;
  let toNotify = given;
  // A delivery that changed is notified later, so each costs at most one attempt.
  const attempts = ATTEMPTS + given.length;
  return retryWrite({ what: "The same memories were marked", attempts }, async () => {
    const marks = await Promise.all(ids.map((id) => store.findEntry(name, QUARANTINE, id)));
    const isDue = (i: number) => (marks[i] === undefined) === (change.verb === QUARANTINE);
    const memories = ids.filter((_, i) => isDue(i));
    const already = ids.filter((_, i) => !isDue(i));
    if (memories.length === 0 || change.dryRun)
      return { memories, already, record: "", notified: [] };
    const named = memories.filter(isOpenToAll);
    const hidden = memories.length - named.length;
    const memory = recordOf(workspace, by, { named, hidden }, change);
    const revisions = new Map(marks.flatMap((mark) => (mark ? [[mark.name, mark.revision]] : [])));
    const at = workspace.clock.now();
    const mark: QuarantineMark = { at, by: by.agent, reason: change.reason, record: memory.id };
    const value = change.verb === LIFT ? undefined : canonicalJson(mark, "invalid_input");
    const entries: PutEntry[] = memories.map((id) => ({
      ...{ kind: QUARANTINE, name: id, value },
      basedOn: revisions.get(id) ?? 0,
    }));
    const moves = toNotify.map((delivery) => notifyingMove(delivery, eventOf(change)));
    const operation = {
      workspace: name,
      branch: MAIN_BRANCH,
      agent: by.agent,
      memory,
      entries,
      moves,
    };
    const outcome = await store.moveDeliveries(operation);
    switch (outcome.kind) {
      case "moved":
        return { memories, already, record: memory.id, notified: toNotify.map(({ id }) => id) };
      case "changed":
        toNotify = toNotify.filter(({ id }) => id !== outcome.delivery?.id);
        return RETRY;
      case "entry_changed":
        return RETRY;
      case "missing_parent":
      case "unknown_receiver":
      case "receiver_disabled":
        throw new Error(`unexpected outcome of marking memories: ${outcome.kind}`);
      default:
        throw await refusalError(workspace, outcome);
    }
  });
}

function recordOf(
  { ids, clock, limits }: Workspace,
  by: Author,
  { named, hidden }: { readonly named: readonly string[]; readonly hidden: number },
  { verb, reason }: Change,
) {
  const did = verb === LIFT ? "lifted the quarantine of" : "quarantined";
  const count = named.length + hidden;
  const which = count > 1 ? `${count} memories` : (named[0] ?? "a private memory");
  // Named in the data, not as references, because the record does not build on them.
  const input: MemoryInput = {
    type: verb,
    content: `${by.agent} ${did} ${which}: ${reason}`,
    data: { memories: [...named], ...(hidden > 0 && { hidden }), reason },
    importance: 0.9,
  };
  return writeRecord(by, input, { ids, now: clock.now(), limits, branch: MAIN_BRANCH }).record;
}

const eventOf = ({ verb }: Change): EventKind => (verb === LIFT ? "lifted" : "quarantined");

/** Leaves the delivery as it is; the event notifies its sender, receiver and holder. */
const notifyingMove = ({ id, state, fence, envelope }: DeliveryRow, event: EventKind): Move => ({
  delivery: id,
  seen: { state, fence, envelope },
  to: state,
  event,
});

/** Notifies one delivery that changed meanwhile. Returns false if it is no longer open. */
async function notifyDelivery(
  workspace: Workspace,
  { agent }: Author,
  id: string,
  event: EventKind,
): Promise<boolean> {
  const { name, store } = workspace;
  const isWritten = await tryWrite(async () => {
    const delivery = (await store.findDelivery(name, id))?.delivery;
    if (delivery === undefined || !isOpen(delivery.state)) return false;
    const moves = [notifyingMove(delivery, event)];
    const outcome = await store.moveDeliveries({
      workspace: name,
      branch: MAIN_BRANCH,
      agent,
      moves,
    });
    return outcome.kind === "moved" || RETRY;
  });
  return isWritten === true; // Gave up after too many conflicts; the holder sees the marks on its next read.
}
