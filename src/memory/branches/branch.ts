/**
 * A branch as the registry has it: one entry per branch, changed by compare-and-set, which says where it
 * left its base and what was merged into it. That it is closed is an entry of its own, which the store
 * minds: no record goes onto a closed branch. The trunk has an entry once something was merged into it.
 */
import { BatonError } from "../../base/errors.ts";
import { type BranchRange, isTraceBranch, MAIN_BRANCH } from "../../store/visibility.ts";

/** The kind of a branch's entry. */
export const BRANCH = "branch";

/** A merge into a branch: what can be seen since. */
export interface Merge {
  readonly branch: string;
  /** The branch itself up to its tip, and what had been merged into it. */
  readonly lines: readonly BranchRange[];
  /** The record that says so, on the branch it was merged into. */
  readonly record: string;
}

/** Where a branch left its base. */
export interface Fork {
  /** The last record of the base it sees; empty where there was none, or not everybody may see it. */
  readonly memory: string;
  /** How many merges the base had. */
  readonly merges: number;
  readonly seq: number;
}

export type BranchValue =
  | { readonly base?: undefined; readonly merges: readonly Merge[] }
  | {
      readonly base: string;
      readonly by: string;
      readonly fork: Fork;
      readonly merges: readonly Merge[];
    };

/** How a branch ended. */
export interface ClosedValue {
  readonly as: "merged" | "abandoned";
  readonly by: string;
  /** The record that says so. */
  readonly record: string;
}

/** Refuses names that mean something else. */
export function refuseReserved(name: string): void {
  if (name !== MAIN_BRANCH && !isTraceBranch(name)) return;
  throw new BatonError("invalid_input", {
    message:
      name === MAIN_BRANCH
        ? `"${MAIN_BRANCH}" is the trunk: it is always there.`
        : `"${name}" is a name of traces, which are kept apart.`,
    path: "branch",
    hint: "Name it after the run and who works on it, for instance run-42/planner.",
  });
}
