/**
 * Compares a branch with the branch it would be merged into: the memories written on it, what they replace,
 * and the conflicts since it began.
 *
 * A conflict concerns one memory that both sides know: both replaced it (supersedes, corrects), or one
 * replaced it and the other built on it (a reference, or a relation that builds on another memory). Memories
 * that were replaced on their own side do not count. Handoffs, acceptances, pins and the like reference
 * memories without building on them.
 *
 * That both sides replaced a memory is detected regardless of the reader's scopes: otherwise an agent that
 * does not see them could merge, and both replacements would be current for one that does. Conflicts that
 * the reader may not see are counted.
 */
import * as z from "zod";
import { checkLimit } from "../../base/limits.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { MemoryRow, RelationEdge } from "../../store/rows.ts";
import { UNSEARCHABLE_TYPES, VIEW_TYPE } from "../../store/search.ts";
import {
  areAudiencesDisjoint,
  type BranchRange,
  isAudienceWithin,
  isInScope,
  isOnVisibleBranch,
  isQuarantined,
  type Visibility,
} from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { DOWNSTREAM_KINDS } from "../citations.ts";
import { type Memory, memoryOf, type RelationKind } from "../record.ts";
import { linesOf, visibilityOf } from "../visibility.ts";
import { refuseReserved } from "./branch.ts";
import {
  type BranchInfo,
  branchClosed,
  branchInfoOf,
  parseBranchName,
  requireBranch,
  type StoredBranch,
} from "./branches.ts";

const REPLACING: readonly RelationKind[] = ["supersedes", "corrects"];
const REPLACING_OR_CONTRADICTING: readonly RelationKind[] = [...REPLACING, "contradicts"];
/** Queries that run at the same time. */
const MAX_CONCURRENT_QUERIES = 32;
/** More relations of one kind to one memory than can be reconciled. */
const MAX_EDGES = 1_000;

/** Two memories, one on each side, that conflict. */
export interface Conflict {
  readonly kind: "both_replaced" | "base_replaced" | "branch_replaced";
  /** The memory that both sides know. */
  readonly about: string;
  /** The memory on the branch that replaces it or builds on it. */
  readonly branch: string;
  /** The memory on the base that replaces it or builds on it. */
  readonly base: string;
}

/** A memory of the branch that replaces or contradicts another. */
export interface Replacement {
  readonly kind: string;
  /** The memory on the branch. */
  readonly by: string;
  /** The memory that it replaces or contradicts. */
  readonly of: string;
}

/** The memories, replacements and conflicts of a branch. */
export interface BranchDiff extends BranchInfo {
  /** The branch it would be merged into: its base, or what the base was merged into. */
  readonly into: string;
  /** The position of its last record: what a merge would include. */
  readonly tip: number;
  /** The number of memories on the branch that the reader may see. */
  readonly count: number;
  /** The newest of them, oldest first. */
  readonly records: readonly Memory[];
  readonly replacements: readonly Replacement[];
  readonly conflicts: readonly Conflict[];
  /** The number of conflicts between memories that the reader may not see. */
  readonly hidden: number;
}

/** Options of diffBranch(). */
export const DiffSchema = z.strictObject({
  /** The most memories to return. Default: 100; at most `pageSize`. */
  limit: z.int().positive().default(100),
});
export type DiffQuery = z.input<typeof DiffSchema>;

/** Compares a branch with its merge target. Throws `unknown_branch`, and `branch_closed` for the target. */
export async function diffBranch(
  workspace: Workspace,
  name: string,
  query: DiffQuery = {},
): Promise<BranchDiff> {
  const { limit } = parseOrThrow(DiffSchema, query, { code: "invalid_input", what: "The query" });
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  const compared = await compareBranch(workspace, name);
  const { branch, into, tip, conflicts, hidden } = compared;
  const own = compared.own.filter(({ type }) => type !== VIEW_TYPE); // Views add nothing to the branch.
  return {
    ...branchInfoOf(branch),
    into: into.name,
    tip,
    count: own.length,
    records: own.slice(-limit),
    replacements: own.flatMap(({ id, relations = [] }) =>
      relations
        .filter(({ kind }) => REPLACING_OR_CONTRADICTING.includes(kind))
        .map(({ kind, to }) => ({ kind, by: id, of: to })),
    ),
    conflicts,
    hidden,
  };
}

/** The comparison that a diff and a merge are based on. */
export interface BranchComparison {
  readonly branch: StoredBranch;
  readonly into: StoredBranch;
  readonly tip: number;
  /** The lines of the branch: itself up to its tip, and what was merged into it. */
  readonly lines: readonly BranchRange[];
  /** The visible records of the branch, oldest first. */
  readonly own: readonly Memory[];
  readonly conflicts: readonly Conflict[];
  /** The number of further conflicts between memories that the reader may not see. */
  readonly hidden: number;
}

/** Compares a branch with its merge target. */
export async function compareBranch(workspace: Workspace, name: string): Promise<BranchComparison> {
  const checked = parseBranchName(name);
  refuseReserved(checked);
  const { store, name: where } = workspace;
  // The tip is read first: a later merge into the branch moves the tip, which the merge write detects.
  const [last] = await store.findTips({ workspace: where, branches: [checked] });
  const tip = last?.seq ?? 0;
  const branch = await requireBranch(workspace, checked);
  const into = await targetOf(workspace, branch);
  const merged = branch.value.merges.flatMap((merge) => merge.lines);
  const lines = [{ branch: branch.name, upTo: tip }, ...merged];
  const sight = await visibilityOf({ ...workspace, branch: into.name });
  const all: Visibility = { ...sight, quarantined: [], unscoped: true };
  const sides: ComparisonVisibility = {
    reader: sight,
    base: all,
    // What both sides know: the lines visible from the branch, without its own.
    seenByBranch: { ...all, lines: await linesOf(workspace, branch.name) },
  };
  const own = (await everyRecord(workspace, { ...all, lines })).map(memoryOf);
  return {
    ...{ branch, into, tip, lines },
    own: own.filter((memory) => isShown(memory, sight) && !isQuarantined(memory.id, sight)),
    ...(await conflictsOf(workspace, sides, own)),
  };
}

const isShown = (memory: Memory, { reader }: Visibility): boolean => isInScope(memory, reader);

/** Returns the branch it would be merged into: its base, or what the base was merged into. */
async function targetOf(workspace: Workspace, branch: StoredBranch): Promise<StoredBranch> {
  let target = branch;
  do {
    target = await requireBranch(workspace, target.value.base ?? target.name);
  } while (target.closed?.as === "merged");
  if (target.closed !== undefined) throw branchClosed(target);
  return target;
}

/** Returns all visible records, oldest first. */
async function everyRecord({ store, name, limits }: Workspace, sight: Visibility) {
  const found: MemoryRow[] = [];
  const limit = limits.pageSize;
  for (;;) {
    const last = found.at(-1)?.id;
    const cursor = last === undefined ? {} : { before: last };
    const page = await store.recentMemories({
      workspace: name,
      sight,
      filter: {},
      limit,
      ...cursor,
    });
    found.push(...page);
    if (page.length < limit) return found.reverse();
  }
}

interface ComparisonVisibility {
  /** What the reader may see. */
  readonly reader: Visibility;
  /** All records of the base, regardless of scopes. */
  readonly base: Visibility;
  /** All records that the branch sees, regardless of scopes. */
  readonly seenByBranch: Visibility;
}

async function conflictsOf(
  workspace: Workspace,
  sides: ComparisonVisibility,
  own: readonly Memory[],
): Promise<Pick<BranchComparison, "conflicts" | "hidden">> {
  const known = new Map(own.map((memory) => [memory.id, memory]));
  const replacedHere = new Set(
    own.flatMap((memory) =>
      targets(memory, REPLACING).filter((id) =>
        isReplacedForAll(known.get(id), memory, sides.reader),
      ),
    ),
  );
  const standing = own.filter((memory) => !replacedHere.has(memory.id));
  const replacing = groupByTarget(
    standing.filter(canReplace),
    (memory) => targets(memory, REPLACING),
    known,
  );
  const building = groupByTarget(
    standing.filter(buildsOnOthers),
    (memory) => [...(memory.refs ?? []), ...targets(memory, DOWNSTREAM_KINDS)],
    known,
  );
  const replacers = async (about: string) =>
    (await sinceOnBase(workspace, sides, { about, kinds: REPLACING })).filter(canReplace);
  const builders = async (about: string) =>
    (await sinceOnBase(workspace, sides, { about, kinds: DOWNSTREAM_KINDS })).filter(
      buildsOnOthers,
    );
  const found = await Promise.all([
    mapInBatches([...replacing], async ([about, by]) => [
      ...conflictingPairsOf("both_replaced", { about, by, base: await replacers(about) }),
      ...conflictingPairsOf("branch_replaced", { about, by, base: await builders(about) }),
    ]),
    mapInBatches([...building], async ([about, by]) =>
      conflictingPairsOf("base_replaced", { about, by, base: await replacers(about) }),
    ),
  ]);
  return toVisibleConflicts(workspace, sides.reader, distinct(found.flat(2)));
}

/** Returns whether a memory builds on what it references; handoffs, pins, quarantines and the like do not. */
const buildsOnOthers = ({ type, trail, envelope }: Memory): boolean =>
  !UNSEARCHABLE_TYPES.has(type) && trail === undefined && envelope === undefined;

/** Returns whether a memory can replace another. A merge can; two unpins of the same pin do not conflict. */
const canReplace = ({ type }: Memory): boolean => type === "merge" || !UNSEARCHABLE_TYPES.has(type);

/** Returns whether a memory was replaced for all readers who may see it. */
const isReplacedForAll = (memory: Memory | undefined, by: Memory, reader: Visibility): boolean =>
  memory !== undefined && isAudienceWithin(memory, by) && !isQuarantined(by.id, reader);

/** Two conflicting memories. */
interface ConflictingPair extends Omit<Conflict, "branch" | "base"> {
  readonly branch: Memory;
  readonly base: Memory;
}

/**
 * Returns the conflicts that the reader may see, and counts the others. A hidden or quarantined memory that
 * only builds on another is not a conflict: only two replacements of one memory would both be current.
 */
async function toVisibleConflicts(
  { store, name }: Workspace,
  sight: Visibility,
  crossings: readonly ConflictingPair[],
): Promise<Pick<BranchComparison, "conflicts" | "hidden">> {
  const rows = await store.readMemories(name, [...new Set(crossings.map(({ about }) => about))]);
  const abouts = new Map(rows.map((row) => [row.id, memoryOf(row)]));
  const conflicts: Conflict[] = [];
  let hidden = 0;
  for (const { kind, about, branch, base } of crossings) {
    const both = [branch, base];
    const known = abouts.get(about);
    const isOpen = [...both, ...(known ? [known] : [])].every((each) => isShown(each, sight));
    if (kind !== "both_replaced" && (!isOpen || both.some(({ id }) => isQuarantined(id, sight)))) {
      continue;
    }
    if (isOpen) conflicts.push({ kind, about, branch: branch.id, base: base.id });
    else hidden++;
  }
  return { conflicts, hidden };
}

const targets = ({ relations = [] }: Memory, kinds: readonly RelationKind[]): string[] =>
  relations.filter(({ kind }) => kinds.includes(kind)).map(({ to }) => to);

/** Groups memories by the memories they concern, except those of the branch itself. */
function groupByTarget(
  written: readonly Memory[],
  about: (memory: Memory) => readonly string[],
  own: ReadonlyMap<string, Memory>,
): Map<string, Set<Memory>> {
  const found = new Map<string, Set<Memory>>();
  for (const memory of written) {
    for (const target of about(memory).filter((id) => !own.has(id))) {
      found.set(target, (found.get(target) ?? new Set()).add(memory));
    }
  }
  return found;
}

/** Returns memories of the base, unknown to the branch and still current, with such a relation to `about`. */
async function sinceOnBase(
  { store, name }: Workspace,
  { reader, base, seenByBranch }: ComparisonVisibility,
  { about, kinds }: { readonly about: string; readonly kinds: readonly RelationKind[] },
): Promise<Memory[]> {
  const pointing = async (memory: string, which: readonly RelationKind[]): Promise<MemoryRow[]> => {
    const at = { workspace: name, direction: "in" as const, sight: base, limit: MAX_EDGES };
    const edges = await store.findRelations({ ...at, memory, kinds: which });
    return edges.length === 0 ? [] : [...(await store.readMemories(name, sourcesOf(edges)))];
  };
  const rows = await pointing(about, kinds);
  const since = rows.filter((row) => !isOnVisibleBranch(row, seenByBranch)).map(memoryOf);
  const standing = await Promise.all(
    since.map(async (memory) => {
      const after = (await pointing(memory.id, REPLACING)).map(memoryOf);
      return after.some((by) => isReplacedForAll(memory, by, reader)) ? [] : [memory];
    }),
  );
  return standing.flat();
}

const sourcesOf = (edges: readonly RelationEdge[]): string[] => [
  ...new Set(edges.map((edge) => edge.source)),
];

interface ConflictCandidates {
  readonly about: string;
  readonly by: ReadonlySet<Memory>;
  readonly base: readonly Memory[];
}

/** Pairs memories of both sides; those without a common reader cannot conflict. */
const conflictingPairsOf = (
  kind: Conflict["kind"],
  { about, by, base }: ConflictCandidates,
): ConflictingPair[] =>
  [...by].flatMap((branch) =>
    base
      .filter((each) => !areAudiencesDisjoint(branch, each))
      .map((each) => ({ kind, about, branch, base: each })),
  );

async function mapInBatches<T, U>(items: readonly T[], act: (item: T) => Promise<U>): Promise<U[]> {
  const done: U[] = [];
  for (let i = 0; i < items.length; i += MAX_CONCURRENT_QUERIES) {
    done.push(...(await Promise.all(items.slice(i, i + MAX_CONCURRENT_QUERIES).map(act))));
  }
  return done;
}

/** Removes duplicates: two memories that conflict in two ways are one conflict, of the first kind. */
function distinct(crossings: readonly ConflictingPair[]): ConflictingPair[] {
  const seen = new Map<string, ConflictingPair>();
  for (const crossing of crossings) {
    const { about, branch, base } = crossing;
    const key = JSON.stringify([about, branch.id, base.id]);
    if (!seen.has(key)) seen.set(key, crossing);
  }
  return [...seen.values()];
}
