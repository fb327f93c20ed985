/**
 * What somebody sees of a workspace: the branch it is on, over its base up to where it left it, with all
 * that was merged into either; less what is private to others, and what was taken out of sight. Every way
 * of finding records asks for this first.
 */
import { BatonError } from "../base/errors.ts";
import { parseText } from "../store/rows.ts";
import type { Moment } from "../store/store.ts";
import { type BranchRange, END_OF_BRANCH, type Visibility } from "../store/visibility.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { type AsOf, momentOf } from "./as-of.ts";
import { BRANCH, type BranchValue, type Merge } from "./branches/branch.ts";
import { QUARANTINE } from "./quarantine/quarantine-mark.ts";

export interface VisibilityOptions {
  /** What was seen then. */
  readonly asOf?: AsOf | undefined;
  /** Also what agents did, step by step. */
  readonly traces?: boolean | undefined;
}

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
    message: "Traces are pruned, so what they were at a time cannot be told.",
    path: "asOf",
    hint: "Ask without asOf, or without traces.",
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

/** The lines that are seen from a branch: its own, what was merged into it, and its base's. */
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

/** Each branch once, as far as any of them goes. */
function distinct(lines: readonly BranchRange[]): BranchRange[] {
  const upTo = new Map<string, number>();
  for (const line of lines) {
    upTo.set(line.branch, Math.max(upTo.get(line.branch) ?? 0, line.upTo));
  }
  return [...upTo].map(([branch, most]) => ({ branch, upTo: most }));
}

/** The merges that had been made by then: each has a record on the chain it was merged into. */
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

/** The names of all that was taken out of sight, page by page. */
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
