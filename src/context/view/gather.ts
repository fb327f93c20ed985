/**
 * Gathers the candidates of a view: pins, the shared context, the current records that the handoff
 * references, records related to those, recent records of the task, and what recall finds for the task. Only
 * what the whole team may see, so that a view never shows its receiver what its sender could not have meant.
 * Quarantined, superseded and deleted records are excluded, and so are records that only move work.
 *
 * The number of queries does not grow with the store: outgoing relations are read from the records, and
 * incoming ones are queried for many records at once.
 */
import { clip } from "../../base/clip.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { type EarlierAttempt, earlierAttempts } from "../../history/earlier-attempts.ts";
import { workspaceAfterClosing } from "../../memory/branches/work-branch.ts";
import { pinnedMemories } from "../../memory/pins.ts";
import { recall } from "../../memory/recall/recall.ts";
import { type Memory, memoryOf } from "../../memory/record.ts";
import { findSupersessions } from "../../memory/supersession.ts";
import type { ViewGap } from "../../memory/view-gap.ts";
import { visibilityOf } from "../../memory/visibility.ts";
import { listContextMemories } from "../../shared-context/items-for-role.ts";
import { edgesOf } from "../../store/edges.ts";
import { UNSEARCHABLE_TYPES } from "../../store/search.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import { ANONYMOUS_READER, isRowVisible, type Visibility } from "../../store/visibility.ts";
import { isTranscript } from "../../text/transcript.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { checkArtifacts } from "./artifact-files.ts";
import { type Candidate, distinctCandidates, summariesIn } from "./candidates.ts";
import { type EarlierLine, readEarlierLine } from "./earlier-line.ts";
import { resolveReferences } from "./freshness.ts";
import type { CheckedArtifact } from "./view.ts";

/** How many relations deep, and up to how many records, neighbours are followed. */
const NEIGHBOURHOOD = { depth: 2, visits: 50 } as const;
/** Default number of recent records of the task. */
const DEFAULT_RECENT = 20;
/** Older records listed in the manifest: of the task, and of all tasks it inherits from, which share them. */
const MAX_LISTED = 100;
const MAX_LISTED_INHERITED = 800;
const MIN_PER_TASK = 4;
const MAX_RECALLED = 12;
/** Characters of intent and next steps used for recall: more words do not make a query clearer. */
const QUESTION_LENGTH = 600;
/** How much less the last reference counts than the first: senders list the most important ones first. */
const LIST_ORDER_DECAY = 0.8;
/** How much less a record counts per further relation. */
const DEPTH_DECAY = 0.7;

/** The candidates of a view. */
export interface GatheredContext {
  /** Each record once, in the order of the sections. */
  readonly candidates: readonly Candidate[];
  readonly gaps: readonly ViewGap[];
  /** Stale references with a replacement that is already shown as the replacement of another. */
  readonly replaced: readonly string[];
  readonly artifacts: readonly CheckedArtifact[];
  /** Earlier attempts at the delivery, oldest first. */
  readonly attempts: readonly EarlierAttempt[];
  /** What earlier handoffs reported. */
  readonly earlier: EarlierLine;
  /** Older records of the task and of the tasks it inherits from, for the manifest. */
  readonly older: readonly Memory[];
  readonly requested: number;
  readonly resolved: number;
}

/** Options of `gather()`. */
export interface GatherOptions {
  /** Number of recent records of the task to consider. */
  readonly recent?: number | undefined;
  readonly role?: string | undefined;
  /** The accepted delivery; absent in a preview. */
  readonly claimed?: DeliveryWithEnvelopeRow | undefined;
}

/** Gathers the candidates of a view for an envelope. */
export async function gather(
  workspace: Workspace,
  envelope: Envelope,
  { recent = DEFAULT_RECENT, role, claimed }: GatherOptions = {},
): Promise<GatheredContext> {
  const team = await teamOf(workspace, envelope);
  const looking = visibilityOf(team);
  const referring = referencedCandidates(team, envelope);
  // Recall takes longest and runs in its own thread: everything else runs in parallel.
  const lining = readEarlierLine(team, looking, envelope);
  const newest = looking.then((seen) => newestOf(team, seen, envelope.task, MAX_LISTED));
  const [
    sight,
    pins,
    shared,
    named,
    fresh,
    recalled,
    artifacts,
    attempts,
    earlier,
    own,
    inherited,
  ] = await Promise.all([
    looking,
    pinnedCandidates(team),
    sharedContextCandidates(team, role),
    referring,
    relatedCandidates(team, looking, { referring, newest, recent }),
    recalledCandidates(team, envelope),
    checkArtifacts(workspace, envelope.artifacts),
    claimed === undefined ? [] : earlierAttempts(workspace, claimed),
    lining,
    newest,
    inheritedRecords(team, looking, lining),
  ]);
  const { requested, resolved, gaps } = named;
  const missing = new Set(gaps.map(({ id }) => id));
  const all = distinctCandidates([
    ...pins,
    ...shared,
    ...named.candidates,
    ...fresh,
    ...recalled,
  ]).filter(({ memory }) => !missing.has(memory.id));
  const considered = new Set(all.map(({ memory }) => memory.id));
  const replacedByCandidates = new Set(all.map(({ insteadOf }) => insteadOf));
  const stale = named.candidates.flatMap(({ insteadOf }) => insteadOf ?? []);
  return {
    candidates: await withLogs(team, sight, all),
    gaps,
    replaced: [...new Set(stale)].filter((id) => !replacedByCandidates.has(id)),
    artifacts,
    attempts,
    earlier,
    older: await withoutSuperseded(
      team,
      sight,
      [...own, ...inherited].filter(({ id }) => !considered.has(id) && !missing.has(id)),
    ),
    requested,
    resolved,
  };
}

/** Returns the workspace as the whole team sees it, on the branch of the work or the one that replaced it. */
export async function teamOf(workspace: Workspace, { branch }: Envelope): Promise<Workspace> {
  const where = branch === undefined ? workspace : await workspaceAfterClosing(workspace, branch);
  return { ...where, reader: ANONYMOUS_READER };
}

async function pinnedCandidates(team: Workspace): Promise<Candidate[]> {
  return (await pinnedMemories(team)).map(({ insteadOf, ...memory }) => ({
    memory,
    section: "pins",
    relevance: 1,
    insteadOf,
  }));
}

/** Returns the shared context: must-constraints are always included, the rest competes. */
async function sharedContextCandidates(
  team: Workspace,
  role: string | undefined,
): Promise<Candidate[]> {
  return (await listContextMemories(team, role)).map(({ memory, must }, i, all) => ({
    memory,
    section: must ? "pins" : "recalled",
    relevance: must ? 1 : 1 - (0.5 * i) / all.length,
  }));
}

interface ReferencedCandidates extends Pick<GatheredContext, "requested" | "resolved" | "gaps"> {
  readonly candidates: readonly Candidate[];
}

/** Returns the records that the handoff references, including the full text of a long intent. */
async function referencedCandidates(
  team: Workspace,
  envelope: Envelope,
): Promise<ReferencedCandidates> {
  const { refs, brief, gaps: before = [] } = envelope;
  const wanted = [...before, ...(brief === undefined ? [] : [{ id: brief, reason: "" }])];
  const { resolved, gaps } = await resolveReferences(team, refs, wanted);
  const summaries = summariesIn(envelope);
  return {
    candidates: resolved.map(({ ref, memory, freshness, insteadOf }, i, all) => ({
      memory,
      section: ref.id === brief ? "task" : "references",
      relevance: 1 - (LIST_ORDER_DECAY * i) / all.length,
      summary: summaries.get(memory.id),
      level: ref.level,
      insteadOf,
      freshness,
    })),
    gaps,
    requested: resolved.length + gaps.length,
    resolved: resolved.length,
  };
}

/** Returns records related to the references, and recent ones, each in its newest version. */
async function relatedCandidates(
  team: Workspace,
  looking: Promise<Visibility>,
  {
    referring,
    newest,
    recent,
  }: {
    readonly referring: Promise<ReferencedCandidates>;
    readonly newest: Promise<readonly Memory[]>;
    readonly recent: number;
  },
): Promise<Candidate[]> {
  const [sight, { candidates }] = await Promise.all([looking, referring]);
  const roots = candidates.map(({ memory }) => memory);
  const [near, found] = await Promise.all([neighbours(team, sight, roots), newest]);
  return replaceSuperseded(team, sight, [...near, ...recentOf(found, recent)]);
}

/** Returns records of the tasks it inherits from: too many to weigh, but listed in the manifest. */
async function inheritedRecords(
  team: Workspace,
  looking: Promise<Visibility>,
  lining: Promise<EarlierLine>,
): Promise<Memory[]> {
  const [sight, { inherited }] = await Promise.all([looking, lining]);
  const share = Math.max(MIN_PER_TASK, Math.floor(MAX_LISTED_INHERITED / inherited.length));
  const most = Math.min(MAX_LISTED, share);
  const found = await Promise.all(inherited.map((task) => newestOf(team, sight, task, most)));
  return found.flat();
}

/** Pages read per task: records that only move or show work may come in between. */
const MAX_PAGES = 5;

/** Returns the newest informative records of a task. */
async function newestOf(
  { store, name: workspace }: Workspace,
  sight: Visibility,
  task: string,
  most: number,
): Promise<Memory[]> {
  const found: Memory[] = [];
  let before: string | undefined;
  for (let page = 0; page < MAX_PAGES && found.length < most; page++) {
    const cursor = before === undefined ? {} : { before };
    const query = { workspace, sight, filter: { task }, limit: most, ...cursor };
    const rows = await store.recentMemories(query);
    found.push(...rows.map(memoryOf).filter(isInformative));
    if (rows.length < most) break;
    before = rows.at(-1)?.id;
  }
  return found.slice(0, most);
}

/** Returns the newest records of the task as candidates. */
const recentOf = (newest: readonly Memory[], most: number): Candidate[] =>
  newest.slice(0, most).map((memory, i, all) => ({
    memory,
    section: "recent",
    relevance: 1 - (0.5 * i) / Math.min(most, all.length),
  }));

/** Returns what recall finds for the intent and the next steps. */
async function recalledCandidates(
  team: Workspace,
  { intent, next }: Envelope,
): Promise<Candidate[]> {
  const question = clip([intent, ...next].join("\n"), QUESTION_LENGTH);
  if (!/[\p{L}\p{N}]/u.test(question)) return [];
  const limit = Math.min(MAX_RECALLED, team.limits.pageSize);
  const { items: hits } = await recall(team, question, { limit });
  const best = hits[0]?.score ?? 1;
  return hits
    .filter(({ memory }) => isInformative(memory))
    .map(({ memory, score }) => ({ memory, section: "recalled", relevance: score / best }));
}

/** Relations that an author wrote deliberately come before those that only mention or carry a record. */
const STRONG_RELATIONS = [
  "supports",
  "contradicts",
  "derived-from",
  "caused-by",
  "corrects",
  "supersedes",
];
const WEAK_RELATIONS = ["references", "summarizes", "continues-from"];

/** Searches breadth-first in both directions; does not pass through or count records that only move work. */
async function neighbours(
  { store, name: workspace }: Workspace,
  sight: Visibility,
  roots: readonly Memory[],
): Promise<Candidate[]> {
  const known = new Set(roots.map(({ id }) => id));
  const found: Candidate[] = [];
  let frontier = roots;
  for (let depth = 0; depth < NEIGHBOURHOOD.depth && frontier.length > 0; depth++) {
    const visits = NEIGHBOURHOOD.visits - found.length;
    if (visits === 0) break;
    const memories = frontier.map(({ id }) => id);
    const into = { workspace, memories, limit: 2 * NEIGHBOURHOOD.visits };
    const [written, mentioned] = await Promise.all([
      store.findInbound({ ...into, kinds: STRONG_RELATIONS }),
      store.findInbound({ ...into, kinds: WEAK_RELATIONS }),
    ]);
    const out = frontier.flatMap((memory) => edgesOf(memory).map(({ target }) => target));
    const ids = [...out, ...[...written, ...mentioned].map(({ source }) => source)];
    const next = [...new Set(ids)].filter((id) => !known.has(id)).slice(0, NEIGHBOURHOOD.visits);
    if (next.length === 0) break;
    for (const id of next) known.add(id);
    const rows = await store.readMemories(workspace, next);
    const seen = rows.filter((row) => isRowVisible(row, sight)).map(memoryOf);
    frontier = seen.filter(isInformative).slice(0, visits);
    const relevance = DEPTH_DECAY ** depth;
    found.push(
      ...frontier.map((memory) => ({ memory, section: "neighbours" as const, relevance })),
    );
  }
  return found;
}

/** Replaces superseded records by the current ones. */
async function replaceSuperseded(
  team: Workspace,
  sight: Visibility,
  found: readonly Candidate[],
): Promise<Candidate[]> {
  if (found.length === 0) return [];
  const became = await findSupersessions(
    team,
    sight,
    found.map(({ memory }) => memory.id),
  );
  return found.flatMap((each): Candidate[] => {
    const { replaced = false, by } = became.get(each.memory.id) ?? {};
    if (!replaced) return [each];
    return by === undefined || !isInformative(by) ? [] : [{ ...each, memory: by }];
  });
}

/** Removes superseded records. */
async function withoutSuperseded(
  team: Workspace,
  sight: Visibility,
  memories: readonly Memory[],
): Promise<Memory[]> {
  if (memories.length === 0) return [];
  const became = await findSupersessions(
    team,
    sight,
    memories.map(({ id }) => id),
  );
  return memories.filter(({ id }) => became.get(id)?.replaced !== true);
}

/** Steps of a delivery with more information than that it moved. */
const INFORMATIVE_VERBS: ReadonlySet<string> = new Set(["complete", "fail", "ask", "answer"]);

/**
 * Excludes records of the hub that only state which agent handed what to which: the envelope contains that.
 */
function isInformative({ type, redacted, envelope, trail = [] }: Memory): boolean {
  if (UNSEARCHABLE_TYPES.has(type) || redacted !== undefined || envelope !== undefined)
    return false;
  return trail.length === 0 || trail.some(({ verb }) => INFORMATIVE_VERBS.has(verb));
}

/** Types of records that lead to a conclusion. */
const REASONING: ReadonlySet<string> = new Set(["step", "question", "reasoning", "thought"]);
/** Types of records that state a conclusion. */
const CONCLUSION_TYPES: ReadonlySet<string> = new Set(["decision", "summary", "checkpoint"]);

/** Marks raw conversations, and reasoning that a decision or a summary has settled. */
async function withLogs(
  team: Workspace,
  sight: Visibility,
  all: readonly Candidate[],
): Promise<Candidate[]> {
  const settled = await findSettledReasoning(team, sight, all);
  return all.map((each) => {
    const isLog =
      each.section !== "pins" && (settled.has(each.memory.id) || isTranscript(each.memory.content));
    return isLog ? { ...each, log: true } : each;
  });
}

async function findSettledReasoning(
  { store, name: workspace }: Workspace,
  sight: Visibility,
  all: readonly Candidate[],
): Promise<ReadonlySet<string>> {
  const memories = all.flatMap(({ memory: { id, type } }) => (REASONING.has(type) ? [id] : []));
  if (memories.length === 0) return new Set();
  const kinds = ["summarizes", "derived-from"];
  const edges = await store.findInbound({
    workspace,
    memories,
    kinds,
    limit: 10 * memories.length,
  });
  if (edges.length === 0) return new Set();
  const rows = await store.readMemories(workspace, [...new Set(edges.map(({ source }) => source))]);
  const settling = new Set(
    rows
      .filter((row) => isRowVisible(row, sight))
      .map(memoryOf)
      .filter((memory) => CONCLUSION_TYPES.has(memory.type) && isInformative(memory))
      .map(({ id }) => id),
  );
  return new Set(edges.filter(({ source }) => settling.has(source)).map(({ target }) => target));
}
