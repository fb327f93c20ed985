/**
 * Finds earlier handoffs that a new one repeats: of the same task, or of the same work under another task.
 * They are reported when it is sent, whichever agent sent them. Only the first handoff of a line is compared:
 * work that is handed on, joined, published or reported continues existing work.
 *
 * A new task costs no query, and a new intent one entry that is written with the handoff (work-entry.ts).
 * Everything else is found by index, with a bounded number of rows however long the task's line is.
 */
import type { Repeat } from "../../context/lint/rule.ts";
import { isVagueIntent } from "../../context/lint/vague-intent.ts";
import { addressOf, type CheckedDraft, type Envelope } from "../../envelope/schema.ts";
import { LEDGER, type StoredLedger, storedLedgerOf } from "../../memory/stored-ledger.ts";
import { SYSTEM } from "../../memory/system-author.ts";
import { type FirstHandoff, WORK, workName } from "../../memory/work-entry.ts";
import { tryParseEnvelope } from "../../store/parse-envelope.ts";
import { type DeliveryRow, isOpen, OPEN_STATES, roleInbox } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow, LineEntry } from "../../store/store.ts";
import { entryValue } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Plan, Sender } from "./plan.ts";
import { cacheWork, completedWork, isKnownWork, type WorkSlot } from "./work-entry.ts";

/** Repeats reported; more would not add information. */
const MAX_REPEATS = 5;
/** Deliveries of a task that are compared. */
const MAX_COMPARED = 16;
/** Completed work under another task counts for a day: work that recurs daily is intended. */
const RECENT_MS = 24 * 3_600_000;

/** The parts of a handoff that decide whether it repeats another. */
export interface RepeatQuery {
  readonly agent: string;
  readonly task: string | undefined;
  readonly to: Envelope["to"] | undefined;
  readonly draft: Pick<CheckedDraft, "action" | "intent" | "next" | "parents">;
  /** The task's stored ledger; undefined for a new task. */
  readonly kept: StoredLedger | undefined;
  /** The tasks it inherits from. */
  readonly from: readonly string[];
}

/** The repeats of a handoff. */
export interface RepeatsResult {
  /** Newest first. */
  readonly repeats: readonly Repeat[];
  /** The entry to write with the handoff; absent if an open or completed handoff exists for this work. */
  readonly slot?: WorkSlot | undefined;
}

const NONE: RepeatsResult = { repeats: [] };

/** Finds what a planned handoff repeats. */
export async function findRepeatsOfPlan(
  workspace: Workspace,
  sender: Sender,
  { draft, task, to, family, sending }: Plan,
): Promise<RepeatsResult> {
  const { joins, failure } = sending;
  if (sender.agent === SYSTEM || sender.work || joins || failure) return NONE;
  const { agent } = sender;
  const asked = { agent, task, to, draft, kept: family.kept, from: family.from };
  return findRepeats(workspace, asked, (work) => isKnownWork(workspace, work));
}

/** Finds what a handoff repeats. `isRead`: whether to read the entry of the work, or to assume it is new. */
export async function findRepeats(
  workspace: Workspace,
  asked: RepeatQuery,
  isRead: (work: string) => boolean,
): Promise<RepeatsResult> {
  if (!beginsWork(asked)) return NONE;
  const { kept, task, draft } = asked;
  const work = workName(draft.intent);
  const ofTask = kept && task !== undefined ? await handoffsOfTask(workspace, task, kept) : [];
  const { found, slot } =
    work === undefined || !isRead(work)
      ? unreadWork(work)
      : await findHandoffOfWork(workspace, work, asked);
  if (ofTask.length === 0 && found.length === 0) return { repeats: [], slot };
  const repeats = [
    ...repeatsAmong(ofTask, asked, "task"),
    ...repeatsAmong(isVagueIntent(draft.intent) ? [] : found, asked, "work"),
  ];
  return { repeats: newestFirst(repeats), slot };
}

/** Publications, reports and handoffs with parents do not start new work. */
const beginsWork = ({ to, draft: { action, parents = [] } }: RepeatQuery): boolean =>
  to?.kind !== "channel" && action !== "completed" && action !== "failed" && parents.length === 0;

const unreadWork = (work: string | undefined): FoundWork => ({
  found: [],
  slot: work === undefined ? undefined : { name: work, basedOn: 0 },
});

/** An earlier handoff, with what is compared. */
interface Candidate extends Omit<Repeat, "why"> {
  readonly receiver: string;
  readonly work: string | undefined;
  readonly next: readonly string[];
}

function candidateOf(
  workspace: Workspace,
  { delivery, envelope: row }: DeliveryWithEnvelopeRow,
): Candidate[] {
  const envelope = tryParseEnvelope(workspace, row);
  if (envelope === undefined || !isWork(envelope)) return [];
  const { id, state, task, sender, holder, receiver, sentAt, settledAt } = delivery;
  const at = state === "completed" ? settledAt : sentAt;
  const work = envelope.redacted === undefined ? workName(envelope.intent) : undefined;
  const by = { by: sender, ...(holder === "" ? {} : { holder }) };
  const repeat = { delivery: id, envelope: row.id, task, state, ...by, at };
  return [{ ...repeat, receiver, work, next: envelope.next }];
}

const isWork = ({ to, action, failure }: Envelope): boolean =>
  to.kind !== "channel" && action !== "completed" && action !== "failed" && failure === undefined;

const isCounted = ({ state }: Pick<DeliveryRow, "state">): boolean =>
  isOpen(state) || state === "completed";

/** Returns the open handoffs of a task and its completed first one; if there are none, its completed ones. */
async function handoffsOfTask(
  workspace: Workspace,
  task: string,
  { begun }: StoredLedger,
): Promise<readonly Candidate[]> {
  const { store, name } = workspace;
  const [open, first] = await Promise.all([
    listOpenDeliveries(workspace, task),
    store.findEnvelope(name, begun.envelope),
  ]);
  const found = [...open, ...(first === undefined ? [] : completedIn([first]))];
  // The first handoff may have been extended, replaced or cancelled: in that case the line is read.
  const all = found.length > 0 ? found : completedIn(await store.readLine(name, task));
  return all.slice(-MAX_COMPARED).flatMap((each) => candidateOf(workspace, each));
}

const completedIn = (line: readonly LineEntry[]): DeliveryWithEnvelopeRow[] =>
  line.flatMap(({ envelope, deliveries }) =>
    deliveries
      .filter(({ state }) => state === "completed")
      .map((delivery) => ({ delivery, envelope })),
  );

/** Uses the index of open work, which starts with the receiver: one range per inbox. */
async function listOpenDeliveries(
  { store, name }: Workspace,
  task: string,
): Promise<readonly DeliveryWithEnvelopeRow[]> {
  const agents = await store.listAgents(name);
  const inboxes = agents.flatMap(({ id, role }) => (role === "" ? [id] : [id, roleInbox(role)]));
  return store.listDeliveries({
    workspace: name,
    receivers: [...new Set(inboxes)],
    states: OPEN_STATES,
    task,
    limit: MAX_COMPARED,
  });
}

interface FoundWork {
  readonly found: readonly Candidate[];
  readonly slot?: WorkSlot | undefined;
}

/** Returns the handoff recorded for this work; if there is none, the entry to write this one to. */
async function findHandoffOfWork(
  workspace: Workspace,
  work: string,
  asked: RepeatQuery,
): Promise<FoundWork> {
  const isOther = (task: string): boolean => task !== asked.task && !asked.from.includes(task);
  const done = completedWork<Candidate>(workspace, work);
  if (done !== undefined && isRecent(workspace, done)) {
    return { found: isOther(done.task) ? [done] : [] };
  }
  const { store, name } = workspace;
  const entry = await store.findEntry(name, WORK, work);
  const first = entryValue<FirstHandoff>(entry);
  const slot = { name: work, basedOn: entry?.revision ?? 0 };
  if (first === undefined) return { found: [], slot };
  const found = (await findCurrentHandoff(workspace, first)).filter((each) =>
    isRecent(workspace, each),
  );
  const [only] = found;
  if (only === undefined) return { found, slot };
  if (only.state === "completed") cacheWork(workspace, work, only);
  return { found: isOther(first.task) ? found : [] };
}

/** Returns the handoff that an entry names, or the one that superseded it. */
async function findCurrentHandoff(
  workspace: Workspace,
  { delivery, task }: FirstHandoff,
): Promise<readonly Candidate[]> {
  const { store, name } = workspace;
  const found = await store.findDelivery(name, delivery);
  if (found?.delivery.state !== "superseded") {
    return found !== undefined && isCounted(found.delivery) ? candidateOf(workspace, found) : [];
  }
  const entry = await store.findEntry(name, LEDGER, task);
  return entry === undefined ? [] : handoffsOfTask(workspace, task, storedLedgerOf(entry));
}

const isRecent = ({ clock }: Workspace, { state, at }: Pick<Repeat, "state" | "at">): boolean =>
  isOpen(state) || at > clock.now() - RECENT_MS;

/**
 * Returns those that the new handoff repeats; none if the sender received one of them, since it continues it.
 */
function repeatsAmong(
  found: readonly Candidate[],
  asked: RepeatQuery,
  why: Repeat["why"],
): readonly Repeat[] {
  const { agent } = asked;
  if (found.some(({ holder, receiver }) => holder === agent || receiver === agent)) return [];
  return found
    .filter((each) => each.by !== agent || isSameRequest(each, asked, why))
    .map(({ receiver: _receiver, work: _work, next: _next, ...repeat }) => ({ ...repeat, why }));
}

/**
 * Returns whether a sender repeats itself. A sender may split a task into several steps and use one intent
 * for several tasks. A repeat is: the same steps to another receiver, or again after they were completed.
 * Sending them again to the same receiver extends the open work.
 */
function isSameRequest(
  earlier: Candidate,
  { draft, to }: RepeatQuery,
  why: Repeat["why"],
): boolean {
  if (earlier.work !== workName(draft.intent)) return false;
  if (earlier.next.join("\n") !== draft.next.join("\n")) return false;
  if (earlier.state === "completed") return true;
  return why === "task" && to !== undefined && addressOf(to) !== earlier.receiver;
}

const newestFirst = (repeats: readonly Repeat[]): readonly Repeat[] =>
  repeats.toSorted((a, b) => b.at - a.at).slice(0, MAX_REPEATS);
