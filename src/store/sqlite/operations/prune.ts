/**
 * Deletes the beginnings of traces that retention no longer keeps, a few rows in each transaction of the group
 * commit. What could be deleted is counted in the housekeeper's thread.
 */

import type {
  ListTraces,
  PruneTrace,
  PruneTraceResult,
  SurveyTrace,
  TraceBranch,
} from "../../store.ts";
import { isTraceBranch } from "../../visibility.ts";
import { numberOf, scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";

const NOTHING: PruneTraceResult = { records: 0, bytes: 0, heldBy: 0 };

/** Returns the traces of a workspace by name. */
export function listTraces(
  sql: Statements,
  workspace: number,
  { after = "", limit }: ListTraces,
): TraceBranch[] {
  const rows = sql.traces.all(workspace, after, limit) as unknown as [
    string,
    number,
    number,
    string,
    number | null,
    number | null,
  ][];
  return rows.map(([branch, last, lastAt, link, first, firstAt]) => {
    return { branch, last, lastAt, link, first: first ?? last + 1, firstAt: firstAt ?? 0 };
  });
}

/** Returns how much of the beginning of a trace can be pruned, because no remaining record refers to it. */
export function surveyTrace(
  sql: Statements,
  workspace: number,
  { branch, upTo }: SurveyTrace,
): PruneTraceResult {
  const chain = traceChain(sql, workspace, branch);
  if (chain === undefined) return NOTHING;
  for (let end = upTo, heldBy = 0; ; ) {
    const held = scalarOf<number>(sql.stepHeld.get(chain, end, end));
    if (held === undefined) return { ...sizeOf(sql, chain, end), heldBy };
    heldBy = held;
    end = held - 1; // A record that stays may refer to earlier steps, so check again.
  }
}

/**
 * Prunes a slice. Positions rise along a chain, so the store's newest record can only be the last of the
 * slice.
 */
export function pruneTrace(tx: Transaction, operation: PruneTrace): PruneTraceResult {
  const { sql } = tx;
  const chain = traceChain(sql, tx.workspace(operation.workspace), operation.branch);
  if (chain === undefined) return NOTHING;
  const slice = sql.stepsFrom.get(chain, operation.upTo, operation.limit) as unknown;
  const [last, position] = slice as [seq: number | null, pos: number | null];
  if (last === null) return NOTHING;
  const held = scalarOf<number>(sql.stepHeld.get(chain, last, operation.upTo));
  const newest = position === numberOf(sql.lastPosition.get()) ? last : last + 1;
  const end = Math.min(held ?? newest, newest) - 1;
  const gone = sizeOf(sql, chain, end);
  if (gone.records > 0) {
    sql.dropEdgesOfSteps.run(chain, end);
    sql.dropSteps.run(chain, end);
    tx.flush();
    tx.forget(); // Cached positions may be of deleted records.
  }
  return { ...gone, heldBy: held ?? 0 };
}

/** Returns undefined for anything but a trace: only traces are pruned. */
function traceChain(sql: Statements, workspace: number, branch: string): number | undefined {
  return isTraceBranch(branch) ? scalarOf<number>(sql.chain.get(workspace, branch)) : undefined;
}

function sizeOf(sql: Statements, chain: number, end: number): Omit<PruneTraceResult, "heldBy"> {
  const [records, bytes] = sql.sizeOfSteps.get(chain, end) as unknown as [number, number];
  return { records, bytes };
}
