/**
 * Comparing a branch with where it would be merged: what was written on it, what that replaces, and where
 * both sides got in each other's way since it began.
 *
 * A conflict is about one record that both sides knew. Both replaced it (supersedes, corrects); or one
 * replaced what the other has built on since (a reference, or a relation by which one record comes of
 * another). Records that were replaced meanwhile on their own side count no more. Handoffs, acceptances,
 * pins and the like point to records without saying anything about them: they build on nothing.
 *
 * That two replaced the same record is found out whoever may see them: merged by somebody who does not,
 * both would hold for somebody who does. Of such conflicts a reader is told how many there are.
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
/** Look-ups under way at once. */
const MAX_CONCURRENT_QUERIES = 32;
/** More edges of one kind at one record than anybody can reconcile. */
const MAX_EDGES = 1_000;

export interface Conflict {
  readonly kind: "both_replaced" | "base_replaced" | "branch_replaced";
  /** The record both sides knew. */
  readonly about: string;
  /** What each side has written about it since. */
  readonly branch: string;
  readonly base: string;
}

/** What a record of the branch replaces or contradicts. */
export interface Replacement {
  readonly kind: string;
  readonly by: string;
  readonly of: string;
}

export interface BranchDiff extends BranchInfo {
  /** Where it would be merged: its base, or what that was merged into. */
  readonly into: string;
  /** Its last record's number: what a merge now would take over. */
  readonly tip: number;
  /** How many records it has of its own, and the newest of them, oldest first. */
  readonly count: number;
  readonly records: readonly Memory[];
  readonly replacements: readonly Replacement[];
  readonly conflicts: readonly Conflict[];
  /** Conflicts of records that who looks may not see. */
  readonly hidden: number;
}

export const DiffSchema = z.strictObject({
  /** How many records to show. */
  limit: z.int().positive().default(100),
});
export type DiffQuery = z.input<typeof DiffSchema>;

export async function diffBranch(
  workspace: Workspace,
  name: string,
  query: DiffQuery = {},
): Promise<BranchDiff> {
  const { limit } = parseOrThrow(DiffSchema, query, { code: "invalid_input", what: "The query" });
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  const compared = await compareBranch(workspace, name);
  const { branch, into, tip, conflicts, hidden } = compared;
  const own = compared.own.filter(({ type }) => type !== VIEW_TYPE); // No more than that it was looked at.
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

export interface BranchComparison {
  readonly branch: StoredBranch;
  readonly into: StoredBranch;
  readonly tip: number;
  /** The branch's own lines: itself up to its tip, and what was merged into it. */
  readonly lines: readonly BranchRange[];
  /** Its own records that are seen, oldest first. */
  readonly own: readonly Memory[];
  readonly conflicts: readonly Conflict[];
  /** How many more there are, of records that are not for the reader. */
  readonly hidden: number;
}

export async function compareBranch(workspace: Workspace, name: string): Promise<BranchComparison> {
  const checked = parseBranchName(name);
  refuseReserved(checked);
  const { store, name: where } = workspace;
  // The tip first: whatever is merged into the branch from now on moves it, and a merge notices that.
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
    // What both knew: the branch's lines without its own.
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

/** Where it would be merged: its base, or where that has gone. */
async function targetOf(workspace: Workspace, branch: StoredBranch): Promise<StoredBranch> {
  let target = branch;
  do {
    target = await requireBranch(workspace, target.value.base ?? target.name);
  } while (target.closed?.as === "merged");
  if (target.closed !== undefined) throw branchClosed(target);
  return target;
}

/** Oldest first. */
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
  /** What whoever compares may see. */
  readonly reader: Visibility;
  /** All there is on the base, and all that the branch sees. */
  readonly base: Visibility;
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

/** Handoffs and what becomes of them, pins, quarantines: they point, and say nothing of what is there. */
const buildsOnOthers = ({ type, trail, envelope }: Memory): boolean =>
  !UNSEARCHABLE_TYPES.has(type) && trail === undefined && envelope === undefined;

/** A merge says which of two holds; that two took off the same pin is no conflict. */
const canReplace = ({ type }: Memory): boolean => type === "merge" || !UNSEARCHABLE_TYPES.has(type);

/** Whether a record holds no more, for everybody who may see it. */
const isReplacedForAll = (memory: Memory | undefined, by: Memory, reader: Visibility): boolean =>
  memory !== undefined && isAudienceWithin(memory, by) && !isQuarantined(by.id, reader);

/** Two records in each other's way. */
interface ConflictingPair extends Omit<Conflict, "branch" | "base"> {
  readonly branch: Memory;
  readonly base: Memory;
}

/**
 * What who looks may see of it is told; of the rest, how many. What somebody privately, or what was
 * quarantined, builds on is in nobody's way: only two that replace the same would both hold.
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

/** By what they are about, who says it. What is about the branch's own records is its own business. */
function groupByTarget(
  said: readonly Memory[],
  about: (memory: Memory) => readonly string[],
  own: ReadonlyMap<string, Memory>,
): Map<string, Set<Memory>> {
  const found = new Map<string, Set<Memory>>();
  for (const memory of said) {
    for (const target of about(memory).filter((id) => !own.has(id))) {
      found.set(target, (found.get(target) ?? new Set()).add(memory));
    }
  }
  return found;
}

/** Records that the base has and the branch does not see, that still stand, and say this about it. */
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

/** What nobody sees both of is in nobody's way. */
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

/** Two records that meet in two ways are one conflict: the first way counts. */
function distinct(crossings: readonly ConflictingPair[]): ConflictingPair[] {
  const seen = new Map<string, ConflictingPair>();
  for (const crossing of crossings) {
    const { about, branch, base } = crossing;
    const key = JSON.stringify([about, branch.id, base.id]);
    if (!seen.has(key)) seen.set(key, crossing);
  }
  return [...seen.values()];
}
