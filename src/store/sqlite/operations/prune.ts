/**
 * What retention takes from the file: the beginnings of traces, and the oldest events, a few rows in
 * each transaction of the group commit. How much could go is counted in the housekeeper's thread.
 */

import type {
  EventSurvey,
  ListTraces,
  PruneTrace,
  PruneTraceResult,
  SurveyEvents,
  SurveyTrace,
  TraceBranch,
} from "../../store.ts";
import { isTraceBranch } from "../../visibility.ts";
import { numberOf, scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";

const NOTHING: PruneTraceResult = { records: 0, bytes: 0, heldBy: 0 };

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

/** The beginning of a trace that could go: nothing that stays refers to any of it. */
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
    end = held - 1; // And what only the others referred to.
  }
}

/** Along a chain positions rise, so that the newest record of the store can only be its last. */
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
    tx.forget(); // Where records are may have been looked up before.
  }
  return { ...gone, heldBy: held ?? 0 };
}

/** Undefined for anything but a trace: nothing else is ever pruned. */
function traceChain(sql: Statements, workspace: number, branch: string): number | undefined {
  return isTraceBranch(branch) ? scalarOf<number>(sql.chain.get(workspace, branch)) : undefined;
}

function sizeOf(sql: Statements, chain: number, end: number): Omit<PruneTraceResult, "heldBy"> {
  const [records, bytes] = sql.sizeOfSteps.get(chain, end) as unknown as [number, number];
  return { records, bytes };
}

export function surveyEvents(
  sql: Statements,
  workspace: number,
  { before = 0, keep }: SurveyEvents,
): EventSurvey {
  const newest = numberOf(sql.newestEvent.get(workspace));
  const young = scalarOf<number>(sql.firstEventSince.get(workspace, before)) ?? newest;
  const surplus = keep === undefined ? 0 : numberOf(sql.eventBeyond.get(workspace, keep));
  const upTo = Math.min(Math.max(young - 1, surplus), newest - 1);
  const events = numberOf(sql.countEvents.get(workspace, upTo));
  return { upTo: events === 0 ? 0 : upTo, events };
}

export function pruneEvents(
  tx: Transaction,
  name: string,
  { upTo, limit }: { readonly upTo: number; readonly limit: number },
): number {
  const workspace = tx.workspace(name);
  const end = Math.min(upTo, numberOf(tx.sql.newestEvent.get(workspace)) - 1);
  return Number(tx.sql.dropEvents.run(workspace, end, limit).changes);
}
