/**
 * Creates, lists and abandons branches. A branch is described by its entries (branch.ts) and its chain: the
 * first record states where it left its base, the last one how it was closed. Abandoning leaves nothing on
 * the base; the records can still be read by id.
 */

import * as z from "zod";
import { canonicalJson } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import { checkLimit, FORMAT_LIMITS } from "../../base/limits.ts";
import { nearestNames } from "../../base/nearest-names.ts";
import { type Page, pageOf } from "../../base/page.ts";
import { BranchName } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { type EntryRow, parseText } from "../../store/rows.ts";
import { CLOSED_BRANCH } from "../../store/store.ts";
import { ANONYMOUS_READER, isRowInScope, MAIN_BRANCH } from "../../store/visibility.ts";
import { RETRY, type RetryOptions, retryWrite } from "../../workspace/retry.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import {
  type Author,
  type Memory,
  type MemoryInput,
  placedMemory,
  writeRecord,
} from "../record.ts";
import { redactSecrets } from "../redaction/secret-policy.ts";
import { refusalError } from "../refusals.ts";
import { BRANCH, type BranchValue, type ClosedValue, type Fork, refuseReserved } from "./branch.ts";

/** A branch as callers see it. */
export interface BranchInfo {
  readonly name: string;
  /** The branch it was created from. */
  readonly base: string;
  /** The last record of the base that it sees; `memory` is absent if there is none or it is private. */
  readonly fork: { readonly memory?: string; readonly seq: number };
  readonly state: "open" | "merged" | "abandoned";
  /** The agent that created it. */
  readonly by: string;
  /** Branches that were merged into it. */
  readonly merged: readonly string[];
  /** The id of the record that closed it; absent if it is open. */
  readonly closedBy?: string;
}

/** A branch as stored, with the revision for compare-and-set. */
export interface StoredBranch {
  readonly name: string;
  readonly value: BranchValue;
  readonly revision: number;
  readonly closed: ClosedValue | undefined;
}

/** Returns the name if it is valid; throws `invalid_input` otherwise. */
export const parseBranchName = (name: string, path = "branch"): string =>
  parseOrThrow(BranchName, name, { code: "invalid_input", what: "The branch", prefix: path });

/** Serializes the value of a branch entry. */
export const serializeBranchValue = (value: BranchValue | ClosedValue): string =>
  canonicalJson(value, "invalid_input", "branch");

/** Returns a branch by name; the main branch always exists. Throws `unknown_branch`. */
export async function requireBranch(workspace: Workspace, name: string): Promise<StoredBranch> {
  const checked = parseBranchName(name);
  const { store, name: where } = workspace;
  const [entry, closed] = await Promise.all([
    store.findEntry(where, BRANCH, checked),
    store.findEntry(where, CLOSED_BRANCH, checked),
  ]);
  if (entry === undefined && checked !== MAIN_BRANCH) throw await unknownBranch(workspace, checked);
  return {
    name: checked,
    value: entry === undefined ? { merges: [] } : readValue<BranchValue>(entry),
    revision: entry?.revision ?? 0,
    closed: closed && readValue<ClosedValue>(closed),
  };
}

const readValue = <T>({ kind, name, value }: EntryRow): T =>
  parseText<T>({ id: `${kind} ${name}`, text: value });

async function unknownBranch(workspace: Workspace, name: string): Promise<BatonError> {
  const { store, name: where, limits } = workspace;
  const known = await store.listEntries({ workspace: where, kind: BRANCH, limit: limits.pageSize });
  const near = nearestNames(
    name,
    known.map((entry) => entry.name),
  );
  return new BatonError("unknown_branch", {
    message: `Branch "${name}" does not exist in workspace "${where}".`,
    path: "branch",
    hint:
      near.length > 0
        ? `Did you mean ${near.map((each) => `"${each}"`).join(" or ")}?`
        : `Create it first: agent.branches.create("${name}").`,
    details: { branch: name, near },
  });
}

/** Builds `branch_closed`. */
export function branchClosed({ name, closed }: StoredBranch): BatonError {
  return new BatonError("branch_closed", {
    message: `The branch "${name}" was ${closed?.as ?? "closed"} by ${closed?.by ?? "another agent"}.`,
    path: "branch",
    hint: "Write on its base, or on a new branch.",
    details: { branch: name, record: closed?.record },
  });
}

/** Options of beginBranch(). `from`: the base. Default: the workspace's branch. */
export const BeginSchema = z.strictObject({ from: z.string().optional() });
export type BeginOptions = z.input<typeof BeginSchema>;

/** Creates a branch at the current tip of its base. Throws `id_conflict` if the name is in use. */
export async function beginBranch(
  workspace: Workspace,
  author: Author,
  given: string,
  options: BeginOptions = {},
): Promise<void> {
  const { branch: named } = await redactSecrets(workspace, { branch: given });
  const name = parseBranchName(named);
  refuseReserved(name);
  const { from = workspace.branch } = parseOrThrow(BeginSchema, options, {
    code: "invalid_input",
    what: "The options",
  });
  const { base, fork } = await forkOf(workspace, from);
  const value = { base: base.name, by: author.agent, fork, merges: [] };
  const relations = fork.memory === "" ? [] : [{ kind: "branches-from" as const, to: fork.memory }];
  const record = {
    type: "branch",
    content: `${author.agent} created "${name}" from "${base.name}".`,
    data: { base: base.name, seq: fork.seq },
    relations,
  };
  const { memory, operation } = writeBranchRecord({ ...workspace, branch: name }, author, record);
  const entry = { kind: BRANCH, name, value: serializeBranchValue(value), basedOn: 0 };
  const outcome = await workspace.store.appendMemories({ ...operation, entries: [entry] });
  switch (outcome.kind) {
    case "appended":
      return;
    case "entry_changed":
      throw new BatonError("id_conflict", {
        message: `Branch "${name}" already exists.`,
        path: "branch",
        hint: `Use it (agent.branches.use("${name}")), or choose another name.`,
        details: { id: name },
      });
    case "lease_lost":
    case "tip_moved":
      throw new Error(`unexpected outcome of writing ${memory}: ${outcome.kind}`);
    default:
      throw await refusalError(workspace, outcome);
  }
}

/** Returns the tip of a base and its merges; reads again if a merge happened in between, so both match. */
async function forkOf(
  workspace: Workspace,
  from: string,
): Promise<{ readonly base: StoredBranch; readonly fork: Fork }> {
  const { store, name } = workspace;
  return retryWrite(branchChanged(from), async () => {
    const base = await requireBranch(workspace, from);
    if (base.closed !== undefined) throw branchClosed(base);
    const [tip] = await store.findTips({ workspace: name, branches: [base.name] });
    const { revision } = await requireBranch(workspace, from);
    if (revision !== base.revision) return RETRY;
    const { seq = 0, memory = "" } = tip ?? {};
    // All agents see the fork: a private record is not named, and its position is enough.
    const [last] = memory === "" ? [] : await store.readMemories(name, [memory]);
    const named = last !== undefined && isRowInScope(last, ANONYMOUS_READER) ? memory : "";
    return { base, fork: { memory: named, merges: base.value.merges.length, seq } };
  });
}

/** Returns the retry options for changes of a branch. */
export const branchChanged = (name: string): RetryOptions => ({
  what: `The branch "${name}" was changed`,
  path: "branch",
});

/** Creates a record about a branch, to be stored on the workspace's branch. */
export function writeBranchRecord(workspace: Workspace, author: Author, input: MemoryInput) {
  const { ids, clock, limits, name, branch } = workspace;
  const record = writeRecord(author, input, { ids, now: clock.now(), limits, branch });
  return {
    memory: record.record.id,
    written: record,
    operation: { workspace: name, branch, memories: [record.record] },
  };
}

/** Abandons a branch; its records never become visible on the base. Throws `branch_closed`. */
export async function abandonBranch(
  workspace: Workspace,
  author: Author,
  given: string,
  reason: string,
): Promise<Memory> {
  const how = { code: "invalid_input", what: "The reason", prefix: "reason" } as const;
  const checked = parseOrThrow(z.string().min(1).max(FORMAT_LIMITS.lineLength), reason, how);
  const { reason: redactedReason } = await redactSecrets(workspace, { reason: checked });
  refuseReserved(parseBranchName(given));
  const branch = await requireBranch(workspace, given);
  if (branch.closed !== undefined) throw branchClosed(branch);
  const view = { ...workspace, branch: branch.name };
  const record = {
    type: "abandon",
    content: `${author.agent} abandoned "${branch.name}": ${redactedReason}`,
    data: { reason: redactedReason },
  };
  const mark = writeBranchRecord(view, author, record);
  const value = serializeBranchValue({ as: "abandoned", by: author.agent, record: mark.memory });
  const entry = { kind: CLOSED_BRANCH, name: branch.name, value, basedOn: 0 };
  const outcome = await workspace.store.appendMemories({ ...mark.operation, entries: [entry] });
  switch (outcome.kind) {
    case "appended": {
      const [place] = outcome.places;
      if (place === undefined)
        throw new Error("the store returned no position for a stored record");
      return placedMemory(mark.written, place, branch.name);
    }
    case "entry_changed":
      throw branchClosed(await requireBranch(workspace, given));
    case "lease_lost":
    case "tip_moved":
      throw new Error(`unexpected outcome of writing ${mark.memory}: ${outcome.kind}`);
    default:
      throw await refusalError(workspace, outcome);
  }
}

/** Input of listBranches(). */
export const BranchesSchema = z.strictObject({
  /** The `next` of the previous page. */
  after: z.string().optional(),
  /** Default: 100; at most `pageSize`. */
  limit: z.int().positive().default(100),
  /** Only names with this prefix, such as `run-42/`. */
  prefix: z.string().optional(),
  state: z.enum(["open", "merged", "abandoned"]).optional(),
});

export type BranchesQuery = z.input<typeof BranchesSchema>;

/** Returns branches by name. The main branch is not listed. */
export async function listBranches(
  workspace: Workspace,
  query: BranchesQuery,
): Promise<Page<BranchInfo>> {
  const {
    limit,
    prefix = "",
    state,
    ...cursor
  } = parseOrThrow(BranchesSchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  const { store, name } = workspace;
  const found: BranchInfo[] = [];
  let { after } = cursor;
  while (found.length <= limit) {
    const from = after === undefined ? {} : { after };
    const page = await store.listEntries({ workspace: name, kind: BRANCH, prefix, limit, ...from });
    const infos = await Promise.all(
      page.filter((entry) => entry.name !== MAIN_BRANCH).map((entry) => infoOf(workspace, entry)),
    );
    found.push(...infos.filter((info) => state === undefined || info.state === state));
    after = page.at(-1)?.name;
    if (page.length < limit) break;
  }
  return pageOf(found, limit, (branch) => branch.name);
}

async function infoOf({ store, name: where }: Workspace, entry: EntryRow): Promise<BranchInfo> {
  const closed = await store.findEntry(where, CLOSED_BRANCH, entry.name);
  const value = readValue<BranchValue>(entry);
  return branchInfoOf({
    name: entry.name,
    value,
    revision: entry.revision,
    closed: closed && readValue<ClosedValue>(closed),
  });
}

/** Converts a stored branch; not for the main branch. */
export function branchInfoOf({ name, value, closed }: StoredBranch): BranchInfo {
  if (value.base === undefined) throw new Error("the main branch has no BranchInfo");
  const { base, by, fork, merges } = value;
  return {
    name,
    base,
    fork: { ...(fork.memory === "" ? {} : { memory: fork.memory }), seq: fork.seq },
    state: closed?.as ?? "open",
    by,
    merged: merges.map((merge) => merge.branch),
    ...(closed && { closedBy: closed.record }),
  };
}
