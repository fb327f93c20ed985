/**
 * The stored form of a branch: one entry per branch, changed by compare-and-set, with its fork from the base
 * and the merges into it. Closing is a separate entry that the store checks: it refuses records on a closed
 * branch. The main branch has an entry once something was merged into it.
 */
import { BatonError } from "../../base/errors.ts";
import {
  AUDIT_BRANCH,
  type BranchRange,
  isTraceBranch,
  MAIN_BRANCH,
} from "../../store/visibility.ts";

/** The kind of a branch's entry. */
export const BRANCH = "branch";

/** A merge into a branch, which makes the merged lines visible. */
export interface Merge {
  readonly branch: string;
  /** The merged branch up to its tip, and the lines merged into that branch before. */
  readonly lines: readonly BranchRange[];
  /** The id of the merge record, on the branch it was merged into. */
  readonly record: string;
}

/** The point where a branch left its base. */
export interface Fork {
  /** The last visible record of the base; empty if there was none or it is private. */
  readonly memory: string;
  /** The number of merges into the base at that point. */
  readonly merges: number;
  /** The position on the base. */
  readonly seq: number;
}

/** The value of a branch's entry; without `base` for the main branch. */
export type BranchValue =
  | { readonly base?: undefined; readonly merges: readonly Merge[] }
  | {
      readonly base: string;
      readonly by: string;
      readonly fork: Fork;
      readonly merges: readonly Merge[];
    };

/** How a branch was closed. */
export interface ClosedValue {
  readonly as: "merged" | "abandoned";
  readonly by: string;
  /** The id of the record that closed it. */
  readonly record: string;
}

/** Throws `invalid_input` for the name of the main branch, the audit branch or a trace. */
export function refuseReserved(name: string): void {
  if (name !== MAIN_BRANCH && name !== AUDIT_BRANCH && !isTraceBranch(name)) return;
  throw new BatonError("invalid_input", {
    message:
      name === MAIN_BRANCH
        ? `"${MAIN_BRANCH}" is the main branch, which always exists.`
        : `The branch name "${name}" is reserved for ${name === AUDIT_BRANCH ? "audit records" : "traces"}.`,
    path: "branch",
    hint: "Name it after the run and the agent, for example run-42/planner.",
  });
}
