/**
 * Quarantine: one call takes records out of every look, with all that came of them if wanted, and
 * tells whoever holds a handoff that carries any of it. A record on the chain says who did it and why,
 * another when it is lifted; the marks that readers look up (quarantine-mark.ts) are written with it,
 * in one operation, so that neither is there without the other.
 *
 * It reaches what is private to others too, and never names it: the record, which everybody reads, names
 * what everybody sees, an answer what the caller sees. Of the others it is said how many there are.
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

/** The type of the record that lifts a quarantine. */
export const LIFT = "lift";
/** Named in one record, and told in one operation. */
const BATCH = 500;
/** Attempts at marking records that others mark as well. */
const ATTEMPTS = 20;

const Since = z.int().min(0).optional();
const ByAgent = z.strictObject({ agent: AgentName, since: Since });
const BySession = z.strictObject({ session: z.string().min(1), since: Since });
const ByRecord = z.strictObject({ record: MemoryId });
const Ids = z.array(MemoryId).min(1);

/** Records by id, or all that an agent or a session wrote, `since` a time in milliseconds. */
export type QuarantineTarget =
  | string
  | readonly string[]
  | z.input<typeof ByAgent>
  | z.input<typeof BySession>;

/** The same, of what is out of sight; or all that one quarantine took, by the record that says so. */
export type LiftTarget = QuarantineTarget | z.input<typeof ByRecord>;

/** Both, as a door describes them. */
export const QuarantineTargetSchema = z.union([MemoryId, Ids, ByAgent, BySession]);
export const LiftTargetSchema = z.union([MemoryId, Ids, ByAgent, BySession, ByRecord]);

export const LiftSchema = z.strictObject({
  /** Only say what would be done. */
  dryRun: z.boolean().default(false),
});

export type LiftOptions = z.input<typeof LiftSchema>;

export const QuarantineSchema = LiftSchema.extend({
  /** With all that came of them. */
  downstream: z.boolean().default(false),
});

export type QuarantineOptions = z.input<typeof QuarantineSchema>;

export interface QuarantineResult {
  /** Taken out of sight by this call (or put back), of what the caller may see; with `dryRun`, what would be. */
  readonly memories: readonly string[];
  /** Were so before, of what the caller may see. */
  readonly already: readonly string[];
  /** How many more it took out of sight (or put back) that the caller may not see. */
  readonly hidden: number;
  /** The records on the chain that say so. */
  readonly records: readonly string[];
  /** Open deliveries whose holder or receiver was told. */
  readonly deliveries: readonly string[];
}

const Reason = z.string().min(1).max(FORMAT_LIMITS.lineLength);

function checkedReason(reason: string): string {
  const how = { code: "invalid_input", what: "The reason", prefix: "reason" } as const;
  const checked = parseOrThrow(Reason, reason, how);
  canonicalJson(checked, "invalid_input", "reason");
  return checked;
}

export async function quarantine(
  workspace: Workspace,
  by: Author,
  what: QuarantineTarget,
  { reason, ...options }: QuarantineOptions & { readonly reason: string },
): Promise<QuarantineResult> {
  const { reason: why } = await redactSecrets(workspace, { reason: checkedReason(reason) });
  const how = { code: "invalid_input", what: "The options" } as const;
  const { downstream, dryRun } = parseOrThrow(QuarantineSchema, options, how);
  const named = await idsOf(workspace, what);
  const ids = downstream ? await withDownstream(workspace, named) : named;
  const change = { verb: QUARANTINE, reason: why, dryRun } as const;
  return changeMarks(workspace, by, ids, change);
}

/** Puts records back in sight. What came of them stays out until it is lifted too. */
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

export interface QuarantinedMemory extends QuarantineMark {
  readonly memory: string;
}

export const QuarantineQuerySchema = z.strictObject({
  /** The `next` of the page before. */
  after: z.string().default(""),
  limit: z.int().positive().default(100),
});

export type QuarantineQuery = z.input<typeof QuarantineQuerySchema>;

/** What is out of sight and the reader may see by its id, in the order of ids (that of their making). */
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

async function idsOf(workspace: Workspace, what: QuarantineTarget): Promise<string[]> {
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

const TARGET_PARSE_OPTIONS = { code: "invalid_input", what: "What is meant" } as const;

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

/** What is lifted. A mark is lifted by whoever knows the id, also on what is private to others, or gone. */
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
    message: `${record} is no record of a quarantine.`,
    path: "record",
    hint: "Name the record that a quarantine left: its answer has it in records, and each mark.",
  });
}

/** All of it or an error: half of what came of a record is no quarantine. */
async function withDownstream(workspace: Workspace, ids: readonly string[]): Promise<string[]> {
  const { impactDepth: depth, impactVisits: limit } = workspace.limits;
  const { reached, cut } = await downstreamOf(workspace, ids, { depth, limit });
  const [first] = cut;
  // That somebody was shown it is not something that came of it.
  const came = reached.filter(({ row }) => memoryOf(row).type !== VIEW_TYPE);
  if (first === undefined) return [...ids, ...came.map(({ row }) => row.id)];
  const cutAt = cut.map(({ memory }) => memory);
  const hidden = await findHiddenIds(workspace, cutAt);
  const name = first.why === "depth" ? "impactDepth" : "impactVisits";
  const max = workspace.limits[name];
  throw new BatonError("limit_exceeded", {
    message: `More came of it than the limit ${name} of ${max} lets follow; nothing was quarantined.`,
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

/** Marks records, or takes their marks away: those that are not so already, batch by batch. */
async function changeMarks(
  workspace: Workspace,
  by: Author,
  ids: readonly string[],
  change: Change,
): Promise<QuarantineResult> {
  const rows = await rowsOf(workspace, ids);
  const carriers = await openCarriers(workspace, rows);
  const isHidden = hiddenFrom(rows, workspace.reader);
  const isPrivate = hiddenFrom(rows, ANONYMOUS_READER);
  const done = { memories: [] as string[], already: [] as string[], records: [] as string[] };
  let hidden = 0;
  const told: string[] = [];
  let waiting = carriers.map(({ delivery }) => delivery);
  for (const batch of chunksOf(ids, BATCH)) {
    const outcome = await changeBatch(workspace, by, batch, {
      ...change,
      isOpenToAll: (id) => !isPrivate(id),
      tell: waiting.slice(0, BATCH),
    });
    const shown = outcome.memories.filter((id) => !isHidden(id));
    hidden += outcome.memories.length - shown.length;
    done.already.push(...outcome.already.filter((id) => !isHidden(id)));
    done.memories.push(...shown);
    if (outcome.record !== "") done.records.push(outcome.record);
    told.push(...outcome.told);
    waiting = waiting.filter(({ id }) => !outcome.told.includes(id));
  }
  const isChange = done.memories.length + hidden > 0;
  if (isChange && !change.dryRun) {
    for (const { id } of waiting)
      if (await notifyDelivery(workspace, by, id, eventOf(change))) told.push(id);
  }
  const wouldTell = isChange ? waiting.map(({ id }) => id) : [];
  return { ...done, hidden, deliveries: change.dryRun ? wouldTell : told };
}

async function rowsOf({ store, name }: Workspace, ids: readonly string[]): Promise<MemoryRow[]> {
  const rows: MemoryRow[] = [];
  for (const chunk of chunksOf(ids)) rows.push(...(await store.readMemories(name, chunk)));
  return rows;
}

/** What is gone is hidden from nobody: only traces are pruned, and those are everybody's. */
function hiddenFrom(rows: readonly MemoryRow[], reader: Reader): (id: string) => boolean {
  const hidden = new Set(rows.filter((row) => !isRowInScope(row, reader)).map(({ id }) => id));
  return (id) => hidden.has(id);
}

/** Open deliveries that were given an envelope with any of these in it. */
async function openCarriers(workspace: Workspace, rows: readonly MemoryRow[]): Promise<Carrier[]> {
  const ids = rows.map(({ id }) => id);
  const bounds = { depth: 1, limit: Number.MAX_SAFE_INTEGER };
  const { reached } = await downstreamOf(workspace, ids, bounds);
  const records = [...reached.map(({ row }) => row), ...rows].map(memoryOf);
  const carriers = await carriersOf(workspace, records);
  return carriers.filter(({ delivery }) => isOpen(delivery.state));
}

interface NotificationPlan {
  readonly tell: readonly DeliveryRow[];
  /** Whether everybody may read its id in the record. */
  readonly isOpenToAll: (id: string) => boolean;
}

interface Batch {
  readonly memories: readonly string[];
  readonly already: readonly string[];
  /** Empty: there was nothing to do. */
  readonly record: string;
  readonly told: readonly string[];
}

/** Record, marks and events in one operation. A holder that moves meanwhile is told after it. */
async function changeBatch(
  workspace: Workspace,
  by: Author,
  ids: readonly string[],
  { tell: given, isOpenToAll, ...change }: Change & NotificationPlan,
): Promise<Batch> {
  const { name, store } = workspace;
  let tellNow = given;
  // A holder that has moved is told later, so each costs one attempt at most.
  const attempts = ATTEMPTS + given.length;
  return retryWrite({ what: "The same records were marked", attempts }, async () => {
    const marks = await Promise.all(ids.map((id) => store.findEntry(name, QUARANTINE, id)));
    const isDue = (i: number) => (marks[i] === undefined) === (change.verb === QUARANTINE);
    const memories = ids.filter((_, i) => isDue(i));
    const already = ids.filter((_, i) => !isDue(i));
    if (memories.length === 0 || change.dryRun) return { memories, already, record: "", told: [] };
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
    const moves = tellNow.map((delivery) => notifyingMove(delivery, eventOf(change)));
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
        return { memories, already, record: memory.id, told: tellNow.map(({ id }) => id) };
      case "changed":
        tellNow = tellNow.filter(({ id }) => id !== outcome.delivery?.id);
        return RETRY;
      case "entry_changed":
        return RETRY;
      case "missing_parent":
      case "unknown_receiver":
      case "receiver_disabled":
        throw new Error(`marking records sends nothing, and was refused with ${outcome.kind}`);
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
  // Named as data, not as references: the record is about them, it does not come of them.
  const input: MemoryInput = {
    type: verb,
    content: `${by.agent} ${did} ${which}: ${reason}`,
    data: { memories: [...named], ...(hidden > 0 && { hidden }), reason },
    importance: 0.9,
  };
  return writeRecord(by, input, { ids, now: clock.now(), limits }).record;
}

const eventOf = ({ verb }: Change): EventKind => (verb === LIFT ? "lifted" : "quarantined");

/** The delivery stays as it is; the event wakes its sender, receiver and holder. */
const notifyingMove = ({ id, state, fence, envelope }: DeliveryRow, event: EventKind): Move => ({
  delivery: id,
  seen: { state, fence, envelope },
  to: state,
  event,
});

/** One that moved on meanwhile, as it is now. False: nobody has it any more. */
async function notifyDelivery(
  workspace: Workspace,
  { agent }: Author,
  id: string,
  event: EventKind,
): Promise<boolean> {
  const { name, store } = workspace;
  const told = await tryWrite(async () => {
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
  return told === true; // Too busy to be called: it finds the marks when it looks next.
}
