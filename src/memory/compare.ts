/**
 * Comparing a branch with where it would be merged: what was written on it, what that replaces, and where
 * both sides got in each other's way since it began.
 *
 * A conflict is about one record that both sides knew. Both replaced it (supersedes, corrects); or one
 * replaced what the other has built on since (a reference, or a relation by which one record comes of
 * another). Records that were replaced meanwhile on their own side count no more.
 */
import * as z from "zod";
import { parseOr } from "../envelope/violations.ts";
import { checkLimit } from "../limits.ts";
import type { MemoryRow, RelationEdge } from "../store/rows.ts";
import { isOnLine, type Line, type Sight } from "../store/sight.ts";
import type { Workspace } from "../store/workspace.ts";
import { refuseReserved } from "./branch.ts";
import {
  type BranchInfo,
  branchClosed,
  branchName,
  described,
  type Found,
  requireBranch,
} from "./branches.ts";
import { DOWNSTREAM_KINDS } from "./cited.ts";
import { type Memory, memoryOf, type RelationKind } from "./record.ts";
import { linesOf, sightOf } from "./sight.ts";

const REPLACING: readonly RelationKind[] = ["supersedes", "corrects"];
const DOUBTING: readonly RelationKind[] = [...REPLACING, "contradicts"];
/** Look-ups under way at once. */
const AT_ONCE = 32;
/** More edges of one kind at one record than anybody can reconcile. */
const MOST_EDGES = 1_000;

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
}

const DiffSchema = z.strictObject({
  /** How many records to show. */
  limit: z.int().positive().default(100),
});
export type DiffQuery = z.input<typeof DiffSchema>;

export async function diffBranch(
  workspace: Workspace,
  name: string,
  query: DiffQuery = {},
): Promise<BranchDiff> {
  const { limit } = parseOr(DiffSchema, query, { code: "invalid_input", what: "The query" });
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  const compared = await compare(workspace, name);
  const { branch, into, tip, own, conflicts } = compared;
  return {
    ...described(branch),
    into: into.name,
    tip,
    count: own.length,
    records: own.slice(-limit).map(memoryOf),
    replacements: own
      .map(memoryOf)
      .flatMap(({ id, relations = [] }) =>
        relations
          .filter(({ kind }) => DOUBTING.includes(kind))
          .map(({ kind, to }) => ({ kind, by: id, of: to })),
      ),
    conflicts,
  };
}

export interface Compared {
  readonly branch: Found;
  readonly into: Found;
  readonly tip: number;
  /** The branch's own lines: itself up to its tip, and what was merged into it. */
  readonly lines: readonly Line[];
  /** Its own records, oldest first. */
  readonly own: readonly MemoryRow[];
  readonly conflicts: readonly Conflict[];
}

export async function compare(workspace: Workspace, name: string): Promise<Compared> {
  const checked = branchName(name);
  refuseReserved(checked);
  const { store, name: where } = workspace;
  // The tip first: whatever is merged into the branch from now on moves it, and a merge notices that.
  const [last] = await store.findTips({ workspace: where, branches: [checked] });
  const tip = last?.seq ?? 0;
  const branch = await requireBranch(workspace, checked);
  const into = await targetOf(workspace, branch);
  const merged = branch.value.merges.flatMap((merge) => merge.lines);
  const lines = [{ branch: branch.name, upTo: tip }, ...merged];
  const sight = await sightOf({ ...workspace, branch: into.name });
  const sides: Sides = {
    base: sight,
    branch: { ...sight, lines },
    // What both knew: the branch's lines without its own.
    seenByBranch: { ...sight, lines: await linesOf(workspace, branch.name) },
  };
  const own = await everyRecord(workspace, sides.branch);
  return { branch, into, tip, lines, own, conflicts: await conflictsOf(workspace, sides, own) };
}

/** Where it would be merged: its base, or where that has gone. */
async function targetOf(workspace: Workspace, branch: Found): Promise<Found> {
  let target = branch;
  do {
    target = await requireBranch(workspace, target.value.base ?? target.name);
  } while (target.closed?.as === "merged");
  if (target.closed !== undefined) throw branchClosed(target);
  return target;
}

/** Oldest first. */
async function everyRecord({ store, name, limits }: Workspace, sight: Sight) {
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

interface Sides {
  readonly base: Sight;
  readonly branch: Sight;
  readonly seenByBranch: Sight;
}

async function conflictsOf(
  workspace: Workspace,
  sides: Sides,
  own: readonly MemoryRow[],
): Promise<Conflict[]> {
  const ids = new Set(own.map((row) => row.id));
  const said = own.map(memoryOf);
  const replacedHere = new Set(said.flatMap((memory) => targets(memory, REPLACING)));
  const standing = said.filter((memory) => !replacedHere.has(memory.id));
  const replacing = pairs(standing, (memory) => targets(memory, REPLACING), ids);
  const building = pairs(
    standing,
    (memory) => [...(memory.refs ?? []), ...targets(memory, DOWNSTREAM_KINDS)],
    ids,
  );
  const look = (about: string, kinds: readonly RelationKind[]) =>
    sinceOnBase(workspace, sides, { about, kinds });
  const found = await Promise.all([
    inTurns([...replacing], async ([about, by]) => [
      ...crossed("both_replaced", { about, by, base: await look(about, REPLACING) }),
      ...crossed("branch_replaced", { about, by, base: await look(about, DOWNSTREAM_KINDS) }),
    ]),
    inTurns([...building], async ([about, by]) =>
      crossed("base_replaced", { about, by, base: await look(about, REPLACING) }),
    ),
  ]);
  return distinct(found.flat(2));
}

const targets = ({ relations = [] }: Memory, kinds: readonly RelationKind[]): string[] =>
  relations.filter(({ kind }) => kinds.includes(kind)).map(({ to }) => to);

/** By what they are about, who says it. What is about the branch's own records is its own business. */
function pairs(
  said: readonly Memory[],
  about: (memory: Memory) => readonly string[],
  own: ReadonlySet<string>,
): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const memory of said) {
    for (const target of about(memory).filter((id) => !own.has(id))) {
      found.set(target, (found.get(target) ?? new Set()).add(memory.id));
    }
  }
  return found;
}

/** Records that the base has and the branch does not see, that still stand, and say this about it. */
async function sinceOnBase(
  { store, name }: Workspace,
  { base, seenByBranch }: Sides,
  { about, kinds }: { readonly about: string; readonly kinds: readonly RelationKind[] },
): Promise<string[]> {
  const pointing = { workspace: name, direction: "in" as const, sight: base, limit: MOST_EDGES };
  const edges = await store.findRelations({ ...pointing, memory: about, kinds });
  const rows = await store.readMemories(name, sourcesOf(edges));
  const since = rows.filter((row) => !isOnLine(row, seenByBranch));
  const standing = await Promise.all(
    since.map(async ({ id }) => {
      const [replaced] = await store.findRelations({
        ...pointing,
        memory: id,
        kinds: REPLACING,
        limit: 1,
      });
      return replaced === undefined ? [id] : [];
    }),
  );
  return standing.flat();
}

const sourcesOf = (edges: readonly RelationEdge[]): string[] => [
  ...new Set(edges.map((edge) => edge.source)),
];

interface Crossing {
  readonly about: string;
  readonly by: ReadonlySet<string>;
  readonly base: readonly string[];
}

const crossed = (kind: Conflict["kind"], { about, by, base }: Crossing): Conflict[] =>
  [...by].flatMap((branch) => base.map((each) => ({ kind, about, branch, base: each })));

async function inTurns<T, U>(items: readonly T[], act: (item: T) => Promise<U>): Promise<U[]> {
  const done: U[] = [];
  for (let i = 0; i < items.length; i += AT_ONCE) {
    done.push(...(await Promise.all(items.slice(i, i + AT_ONCE).map(act))));
  }
  return done;
}

/** Two records that meet in two ways are one conflict: the first way counts. */
function distinct(conflicts: readonly Conflict[]): Conflict[] {
  const seen = new Map<string, Conflict>();
  for (const conflict of conflicts) {
    const { about, branch, base } = conflict;
    const key = JSON.stringify([about, branch, base]);
    if (!seen.has(key)) seen.set(key, conflict);
  }
  return [...seen.values()];
}
