/**
 * Quarantine: one call takes records out of every look, with all that came of them if wanted, and
 * tells whoever holds a handoff that carries any of it. A record on the chain says who did it and why,
 * another when it is lifted; the marks that readers look up (quarantine-mark.ts) are written with it,
 * in one operation, so that neither is there without the other.
 */
import * as z from "zod";
import { canonicalJson } from "../canonical.ts";
import { AgentName, MemoryId } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { BatonError } from "../errors.ts";
import { checkLimit, FORMAT_LIMITS } from "../limits.ts";
import { type DeliveryRow, type EventKind, isOpen } from "../store/rows.ts";
import { TRUNK } from "../store/sight.ts";
import type { Move, PutEntry } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import { type Carrier, carriersOf, requireRows } from "./blast-radius.ts";
import { chunksOf, downstreamOf } from "./downstream.ts";
import { outputOf } from "./output.ts";
import { markIn, QUARANTINE, type QuarantineMark } from "./quarantine-mark.ts";
import { type Author, type MemoryInput, memoryOf, writeRecord } from "./record.ts";
import { refusalError } from "./refusals.ts";

/** The type of the record that lifts a quarantine. */
export const LIFT = "lift";
/** Named in one record, and told in one operation. */
const BATCH = 500;
/** Each round somebody else marked one of the same records. */
const ROUNDS = 20;

const Since = z.int().min(0).optional();
const ByAgent = z.strictObject({ agent: AgentName, since: Since });
const BySession = z.strictObject({ session: z.string().min(1), since: Since });
const Ids = z.array(MemoryId).min(1);

/** Records by id, or all that an agent or a session wrote, `since` a time in milliseconds. */
export type QuarantineWhat =
  | string
  | readonly string[]
  | z.input<typeof ByAgent>
  | z.input<typeof BySession>;

const OptionsSchema = z.strictObject({
  /** With all that came of them. */
  downstream: z.boolean().default(false),
  /** Only say what would be done. */
  dryRun: z.boolean().default(false),
});

export type QuarantineOptions = z.input<typeof OptionsSchema>;

export interface Quarantined {
  /** Taken out of sight by this call (or put back); with `dryRun`, what would be. */
  readonly memories: readonly string[];
  /** Were so before. */
  readonly already: readonly string[];
  /** The records on the chain that say so. */
  readonly records: readonly string[];
  /** Open deliveries whose holder or receiver was told. */
  readonly deliveries: readonly string[];
}

const Reason = z.string().min(1).max(FORMAT_LIMITS.lineLength);

function checkedReason(reason: string): string {
  const how = { code: "invalid_input", what: "The reason", prefix: "reason" } as const;
  const checked = parseOr(Reason, reason, how);
  canonicalJson(checked, "invalid_input", "reason");
  return checked;
}

export async function quarantine(
  workspace: Workspace,
  by: Author,
  what: QuarantineWhat,
  { reason, ...options }: QuarantineOptions & { readonly reason: string },
): Promise<Quarantined> {
  const why = checkedReason(reason);
  const how = { code: "invalid_input", what: "The options" } as const;
  const { downstream, dryRun } = parseOr(OptionsSchema, options, how);
  const named = await idsOf(workspace, what);
  const ids = downstream ? await withDownstream(workspace, named) : named;
  const change = { verb: QUARANTINE, reason: why, dryRun } as const;
  return changeMarks(workspace, by, ids, change);
}

/** Puts records back in sight. What came of them stays out until it is lifted too. */
export async function lift(
  workspace: Workspace,
  by: Author,
  ids: string | readonly string[],
  { reason }: { readonly reason: string },
): Promise<Quarantined> {
  const named = await idsOf(workspace, ids);
  return changeMarks(workspace, by, named, {
    verb: LIFT,
    reason: checkedReason(reason),
    dryRun: false,
  });
}

export interface QuarantinedMemory extends QuarantineMark {
  readonly memory: string;
}

const ListSchema = z.strictObject({
  /** Only ids after this one: the last of a page. */
  after: z.string().default(""),
  limit: z.int().positive().default(100),
});

export type QuarantineQuery = z.input<typeof ListSchema>;

/** What is out of sight, in the order of ids (which is that of their making). */
export async function listQuarantined(
  { store, name: workspace, limits }: Workspace,
  query: QuarantineQuery,
): Promise<QuarantinedMemory[]> {
  const how = { code: "invalid_input", what: "The query" } as const;
  const { after, limit } = parseOr(ListSchema, query, how);
  checkLimit(limits, "pageSize", { actual: limit, path: "limit" });
  const entries = await store.listEntries({ workspace, kind: QUARANTINE, after, limit });
  return entries.map((entry) => ({ memory: entry.name, ...markIn(entry) }));
}

async function idsOf(workspace: Workspace, what: QuarantineWhat): Promise<string[]> {
  const how = { code: "invalid_input", what: "What is quarantined" } as const;
  if (typeof what === "string" || Array.isArray(what)) {
    const ids = parseOr(Ids, typeof what === "string" ? [what] : what, { ...how, prefix: "ids" });
    checkLimit(workspace.limits, "impactVisits", { actual: ids.length, path: "ids" });
    await requireRows(workspace, ids);
    return [...new Set(ids)];
  }
  const given = Object.hasOwn(Object(what), "session")
    ? parseOr(BySession, what, how)
    : parseOr(ByAgent, what, how);
  const ids = await outputOf(workspace, given);
  checkLimit(workspace.limits, "impactVisits", { actual: ids.length, path: "records" });
  return ids;
}

/** All of it or an error: half of what came of a record is no quarantine. */
async function withDownstream(workspace: Workspace, ids: readonly string[]): Promise<string[]> {
  const { impactDepth: depth, impactVisits: limit } = workspace.limits;
  const { reached, cut } = await downstreamOf(workspace, ids, { depth, limit });
  const [first] = cut;
  if (first === undefined) return [...ids, ...reached.map(({ row }) => row.id)];
  const name = first.why === "depth" ? "impactDepth" : "impactVisits";
  const max = workspace.limits[name];
  throw new BatonError("limit_exceeded", {
    message: `More came of it than the limit ${name} of ${max} lets follow; nothing was quarantined.`,
    path: "downstream",
    hint: `Open the hub with limits: { ${name}: … }, or quarantine without downstream first.`,
    details: { limit: name, max, cut: cut.map(({ memory }) => memory).slice(0, 20) },
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
): Promise<Quarantined> {
  const carriers = await openCarriers(workspace, ids);
  const done = { memories: [] as string[], already: [] as string[], records: [] as string[] };
  const told: string[] = [];
  let waiting = carriers.map(({ delivery }) => delivery);
  for (const batch of chunksOf(ids, BATCH)) {
    const outcome = await changeBatch(workspace, by, batch, {
      ...change,
      tell: waiting.slice(0, BATCH),
    });
    done.already.push(...outcome.already);
    done.memories.push(...outcome.memories);
    if (outcome.record !== "") done.records.push(outcome.record);
    told.push(...outcome.told);
    waiting = waiting.filter(({ id }) => !outcome.told.includes(id));
  }
  if (done.memories.length > 0 && !change.dryRun) {
    for (const { id } of waiting) if (await tell(workspace, by, id, eventOf(change))) told.push(id);
  }
  const wouldTell = done.memories.length === 0 ? [] : waiting.map(({ id }) => id);
  return { ...done, deliveries: change.dryRun ? wouldTell : told };
}

/** Open deliveries that were given an envelope with any of these in it. */
async function openCarriers(workspace: Workspace, ids: readonly string[]): Promise<Carrier[]> {
  const bounds = { depth: 1, limit: Number.MAX_SAFE_INTEGER };
  const { reached } = await downstreamOf(workspace, ids, bounds);
  const rows = reached.map(({ row }) => row);
  for (const chunk of chunksOf(ids)) {
    rows.push(...(await workspace.store.readMemories(workspace.name, chunk)));
  }
  const carriers = await carriersOf(workspace, rows.map(memoryOf));
  return carriers.filter(({ delivery }) => isOpen(delivery.state));
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
  { tell: given, ...change }: Change & { readonly tell: readonly DeliveryRow[] },
): Promise<Batch> {
  const { name, store } = workspace;
  let tellNow = given;
  for (let round = 0; round < ROUNDS; ) {
    const marks = await Promise.all(ids.map((id) => store.findEntry(name, QUARANTINE, id)));
    const isDue = (i: number) => (marks[i] === undefined) === (change.verb === QUARANTINE);
    const memories = ids.filter((_, i) => isDue(i));
    const already = ids.filter((_, i) => !isDue(i));
    if (memories.length === 0 || change.dryRun) return { memories, already, record: "", told: [] };
    const memory = recordOf(workspace, by, memories, change);
    const revisions = new Map(marks.flatMap((mark) => (mark ? [[mark.name, mark.revision]] : [])));
    const at = workspace.clock.now();
    const mark: QuarantineMark = { at, by: by.agent, reason: change.reason, record: memory.id };
    const value = change.verb === LIFT ? undefined : canonicalJson(mark, "invalid_input");
    const entries: PutEntry[] = memories.map((id) => ({
      ...{ kind: QUARANTINE, name: id, value },
      basedOn: revisions.get(id) ?? 0,
    }));
    const moves = tellNow.map((delivery) => telling(delivery, eventOf(change)));
    const operation = { workspace: name, branch: TRUNK, agent: by.agent, memory, entries, moves };
    const outcome = await store.moveDeliveries(operation);
    switch (outcome.kind) {
      case "moved":
        return { memories, already, record: memory.id, told: tellNow.map(({ id }) => id) };
      case "changed":
        // Not worth a round: there are only so many of them, and one less is told in here.
        tellNow = tellNow.filter(({ id }) => id !== outcome.delivery?.id);
        break;
      case "entry_changed":
        round++;
        break;
      case "missing_parent":
      case "unknown_receiver":
      case "receiver_disabled":
        throw new Error(`marking records sends nothing, and was refused with ${outcome.kind}`);
      default:
        throw await refusalError(workspace, outcome);
    }
  }
  throw new BatonError("store_busy", {
    message: `Others marked the same records ${ROUNDS} times meanwhile.`,
    hint: "Try again.",
  });
}

function recordOf(
  { ids, clock, limits }: Workspace,
  by: Author,
  memories: readonly string[],
  { verb, reason }: Change,
) {
  const did = verb === LIFT ? "lifted the quarantine of" : "quarantined";
  const [only, ...others] = memories;
  const which = others.length === 0 ? only : `${memories.length} memories`;
  // Named as data, not as references: the record is about them, it does not come of them.
  const input: MemoryInput = {
    type: verb,
    content: `${by.agent} ${did} ${which}: ${reason}`,
    data: { memories: [...memories], reason },
    importance: 0.9,
  };
  return writeRecord(by, input, { ids, now: clock.now(), limits }).record;
}

const eventOf = ({ verb }: Change): EventKind => (verb === LIFT ? "lifted" : "quarantined");

/** The delivery stays as it is; the event wakes its sender, receiver and holder. */
const telling = ({ id, state, fence, envelope }: DeliveryRow, event: EventKind): Move => ({
  delivery: id,
  seen: { state, fence, envelope },
  to: state,
  event,
});

/** One that moved on meanwhile, as it is now. False: nobody has it any more. */
async function tell(
  workspace: Workspace,
  { agent }: Author,
  id: string,
  event: EventKind,
): Promise<boolean> {
  const { name, store } = workspace;
  for (let round = 0; round < ROUNDS; round++) {
    const delivery = (await store.findDelivery(name, id))?.delivery;
    if (delivery === undefined || !isOpen(delivery.state)) return false;
    const moves = [telling(delivery, event)];
    const outcome = await store.moveDeliveries({ workspace: name, branch: TRUNK, agent, moves });
    if (outcome.kind === "moved") return true;
  }
  return false; // Too busy to be called: it finds the marks when it looks next.
}
