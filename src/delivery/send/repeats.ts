/**
 * Earlier handoffs that a new one repeats: of the same task, or of the same work under another task.
 * They are reported when it is sent, by any sender. Only the beginning of a line is compared: work that
 * is handed on, joined, published or reported continues what there is.
 *
 * A new task costs no query, a new intent one entry that is written with it (work-entry.ts); everything
 * else is found by index, a bounded number of rows however long the task's line is.
 */
import type { Repeat } from "../../context/lint/rule.ts";
import { isVagueIntent } from "../../context/lint/vague-intent.ts";
import { addressOf, type CheckedDraft, type Envelope } from "../../envelope/schema.ts";
import { SYSTEM } from "../../memory/agents.ts";
import { LEDGER, type StoredLedger, storedLedgerOf } from "../../memory/stored-ledger.ts";
import { type FirstHandoff, WORK, workName } from "../../memory/work-entry.ts";
import { tryParseEnvelope } from "../../store/parse-envelope.ts";
import { type DeliveryRow, isOpen, OPEN_STATES, roleInbox } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow, LineEntry } from "../../store/store.ts";
import { entryValue } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Plan, Sender } from "./plan.ts";
import { cacheWork, completedWork, isKnownWork, type WorkSlot } from "./work-entry.ts";

/** More say no more. */
const MAX_REPEATS = 5;
/** Deliveries of a task that are compared. */
const MAX_COMPARED = 16;
/** Completed work under another task counts for a day: what recurs every day is meant to. */
const RECENT_MS = 24 * 3_600_000;

/** What of a handoff decides whether it repeats another. */
export interface RepeatQuery {
  readonly agent: string;
  readonly task: string | undefined;
  readonly to: Envelope["to"] | undefined;
  readonly draft: Pick<CheckedDraft, "action" | "intent" | "next" | "parents">;
  /** What the task's ledger holds; undefined for a new task. */
  readonly kept: StoredLedger | undefined;
  /** The tasks it inherits from. */
  readonly from: readonly string[];
}

export interface RepeatsResult {
  /** Newest first. */
  readonly repeats: readonly Repeat[];
  /** To be written with the handoff, where no open or completed one stands for this work. */
  readonly slot?: WorkSlot | undefined;
}

const NONE: RepeatsResult = { repeats: [] };

/** What a handoff repeats that is about to be sent. */
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

/** `isRead`: whether the entry of a piece of work is read, or assumed not to exist yet. */
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

/** News, reports and what names its parents ask for nothing new. */
const beginsWork = ({ to, draft: { action, parents = [] } }: RepeatQuery): boolean =>
  to?.kind !== "channel" && action !== "completed" && action !== "failed" && parents.length === 0;

const unreadWork = (work: string | undefined): FoundWork => ({
  found: [],
  slot: work === undefined ? undefined : { name: work, basedOn: 0 },
});

/** An earlier handoff, as far as it is compared. */
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

/** Open handoffs of a task and the completed one it began with; without either, completed ones. */
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
  // What it began with may have been extended, replaced or cancelled: then its line is read.
  const all = found.length > 0 ? found : completedIn(await store.readLine(name, task));
  return all.slice(-MAX_COMPARED).flatMap((each) => candidateOf(workspace, each));
}

const completedIn = (line: readonly LineEntry[]): DeliveryWithEnvelopeRow[] =>
  line.flatMap(({ envelope, deliveries }) =>
    deliveries
      .filter(({ state }) => state === "completed")
      .map((delivery) => ({ delivery, envelope })),
  );

/** By the index of open work, which has a receiver first: one range for each inbox there is. */
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

/** The handoff that stands for a piece of work; without one, the place to write this one to. */
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

/** The handoff an entry names, or the one that took its place. */
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

/** Those that the new handoff repeats; none for an agent that one of them was handed to: it goes on with it. */
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
 * Whether a sender repeats itself. It may give one task several steps, and one intent several tasks:
 * the same steps to another receiver, or again after they were completed, are a repeat. Sent again to
 * the same receiver, open work is extended.
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
