/**
 * Computes which records a reader sees: those of the branch it reads, of the base of that branch up to the
 * fork, and of all branches merged into either; without quarantined records and those private to others.
 * Every query for records is restricted by this.
 */
import { BatonError } from "../base/errors.ts";
import { parseText } from "../store/rows.ts";
import type { Moment } from "../store/store.ts";
import { type BranchRange, END_OF_BRANCH, type Visibility } from "../store/visibility.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { type AsOf, momentOf } from "./as-of.ts";
import { BRANCH, type BranchValue, type Merge } from "./branches/branch.ts";
import { QUARANTINE } from "./quarantine/quarantine-mark.ts";

/** Options of visibilityOf(). */
export interface VisibilityOptions {
  /** The moment to look back to. Default: now. */
  readonly asOf?: AsOf | undefined;
  /** Whether to include traces (what agents did, step by step). Default: false. */
  readonly traces?: boolean | undefined;
}

/** Returns the visibility of the workspace's reader. Throws `invalid_input` for `asOf` with traces. */
export async function visibilityOf(
  workspace: Workspace,
  options: VisibilityOptions = {},
): Promise<Visibility> {
  const { asOf, traces = false } = options;
  if (asOf !== undefined && traces) throw tracesNotHistorical();
  const [lines, quarantined] = await Promise.all([
    linesAsOf(workspace, asOf),
    listQuarantinedIds(workspace),
  ]);
  return { lines, reader: workspace.reader, traces, quarantined };
}

function tracesNotHistorical(): BatonError {
  return new BatonError("invalid_input", {
    message: "asOf cannot be combined with traces, because traces are pruned.",
    path: "asOf",
    hint: "Omit asOf or traces.",
  });
}

async function linesAsOf(
  workspace: Workspace,
  asOf: AsOf | undefined,
): Promise<readonly BranchRange[]> {
  const { name, store, branch } = workspace;
  if (asOf === undefined) return linesOf(workspace, branch);
  const moment = await momentOf(workspace, asOf);
  const lines = await linesOf(workspace, branch, moment);
  const branches = lines.map((line) => line.branch);
  const tips = await store.findTips({ workspace: name, branches, moment });
  return lines.map((line, i) => ({ ...line, upTo: Math.min(line.upTo, tips[i]?.seq ?? 0) }));
}

/** Returns the branch ranges visible from a branch: its own, those merged into it, and those of its base. */
export async function linesOf(
  workspace: Workspace,
  branch: string,
  moment?: Moment,
): Promise<readonly BranchRange[]> {
  const seen: BranchRange[] = [];
  let at: { readonly branch: string; readonly upTo: number; readonly merges: number } | undefined =
    {
      branch,
      upTo: END_OF_BRANCH,
      merges: END_OF_BRANCH,
    };
  while (at !== undefined) {
    const value = await branchValue(workspace, at.branch);
    const merges = value?.merges.slice(0, at.merges) ?? [];
    seen.push({ branch: at.branch, upTo: at.upTo });
    seen.push(...(await mergesAsOf(workspace, merges, moment)).flatMap((merge) => merge.lines));
    at =
      value?.base === undefined
        ? undefined
        : { branch: value.base, upTo: value.fork.seq, merges: value.fork.merges };
  }
  return distinct(seen);
}

/** Returns each branch once, with its largest range. */
function distinct(lines: readonly BranchRange[]): BranchRange[] {
  const upTo = new Map<string, number>();
  for (const line of lines) {
    upTo.set(line.branch, Math.max(upTo.get(line.branch) ?? 0, line.upTo));
  }
  return [...upTo].map(([branch, most]) => ({ branch, upTo: most }));
}

/** Returns the merges made by that moment; each has a record on the branch it was merged into. */
async function mergesAsOf(
  { store, name }: Workspace,
  merges: readonly Merge[],
  moment: Moment | undefined,
): Promise<readonly Merge[]> {
  if (moment === undefined || merges.length === 0) return merges;
  const records = await store.readMemories(
    name,
    merges.map((merge) => merge.record),
  );
  const branches = records.map((record) => record.branch);
  const tips = await store.findTips({ workspace: name, branches, moment });
  const made = new Set(
    records.filter((record, i) => record.seq <= (tips[i]?.seq ?? 0)).map((record) => record.id),
  );
  return merges.filter((merge) => made.has(merge.record));
}

async function branchValue(
  { store, name }: Workspace,
  branch: string,
): Promise<BranchValue | undefined> {
  const entry = await store.findEntry(name, BRANCH, branch);
  return entry && parseText<BranchValue>({ id: `branch ${branch}`, text: entry.value });
}

/** Returns the ids of all quarantined memories. */
async function listQuarantinedIds({ store, name, limits }: Workspace): Promise<readonly string[]> {
  const found: string[] = [];
  const limit = limits.pageSize;
  let after: string | undefined;
  do {
    const cursor = after === undefined ? {} : { after };
    const page = await store.listEntries({ workspace: name, kind: QUARANTINE, limit, ...cursor });
    found.push(...page.map((entry) => entry.name));
    after = page.length < limit ? undefined : page.at(-1)?.name;
  } while (after !== undefined);
  return found;
}
