/**
 * Deletes what retention does not keep: the beginnings of traces, and the oldest events, a few rows per
 * transaction. Like every write it holds the workspace's lock: no record can refer to a step between the
 * check and its deletion.
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
import type { StatementRunner } from "../lines.ts";

const NOTHING: PruneTraceResult = { records: 0, bytes: 0, heldBy: 0 };

/** Returns the branches of traces, with their first and last steps. */
export async function listTraces(
  { sql, read }: StatementRunner,
  { workspace, after = "", limit }: ListTraces,
): Promise<TraceBranch[]> {
  const rows = await read(sql.traces, [workspace, after, limit]);
  return rows.map((row) => {
    const [branch, last, lastAt, link, first, firstAt] = row as [
      string,
      number,
      number,
      string,
      number | null,
      number | null,
    ];
    return { branch, last, lastAt, link, first: first ?? last + 1, firstAt: firstAt ?? 0 };
  });
}

/** Returns how much of the beginning of a trace can be deleted: no record that remains refers to it. */
export async function surveyTrace(
  { sql, read }: StatementRunner,
  { workspace, branch, upTo }: SurveyTrace,
): Promise<PruneTraceResult> {
  if (!isTraceBranch(branch)) return NOTHING;
  for (let end = upTo, heldBy = 0; ; ) {
    const [held] = await read(sql.stepHeld, [workspace, branch, end, end]);
    if (held === undefined) {
      const [size] = await read(sql.sizeOfSteps, [workspace, branch, end]);
      const [records, bytes] = size as [number, number];
      return { records, bytes, heldBy };
    }
    heldBy = held[0] as number;
    end = heldBy - 1; // Also keeps steps that only the kept ones refer to.
  }
}

/** Deletes one slice of a trace. Runs in the caller's transaction. */
export async function pruneTrace({ sql, read }: StatementRunner, operation: PruneTrace) {
  const { workspace, branch, upTo, limit } = operation;
  if (!isTraceBranch(branch)) return NOTHING;
  await read(sql.lockWorkspace, [workspace]);
  const [slice] = await read(sql.stepsFrom, [workspace, branch, upTo, limit]);
  const [last, position, newestPosition] = slice as [number | null, number | null, number];
  if (last === null) return NOTHING;
  const [held] = await read(sql.stepHeld, [workspace, branch, last, upTo]);
  const heldBy = (held?.[0] as number | undefined) ?? 0;
  // Positions increase along a chain: only the last step can be the newest record of the workspace.
  const newest = position === newestPosition ? last : last + 1;
  const end = Math.min(heldBy || newest, newest) - 1;
  // A hub that has read these steps would add them to the index after they were deleted from it.
  await read(sql.awaitIndex, [workspace]);
  const [gone] = await read(sql.dropSteps, [workspace, branch, end]);
  const [records, bytes] = gone as [number, number];
  return { records, bytes, heldBy };
}

/** Returns the number of the last event that can be deleted, and how many events that are. */
export async function surveyEvents(
  { sql, read }: StatementRunner,
  { workspace, before = 0, keep }: SurveyEvents,
): Promise<EventSurvey> {
  const [row] = await read(sql.surveyEvents, [workspace, before, keep ?? null]);
  const [upTo, events] = row as [number, number];
  return { upTo: events === 0 ? 0 : upTo, events };
}

/** Deletes events up to a number and returns how many. Runs in the caller's transaction. */
export async function pruneEvents(
  { sql, read }: StatementRunner,
  workspace: string,
  { upTo, limit }: { readonly upTo: number; readonly limit: number },
): Promise<number> {
  await read(sql.lockWorkspace, [workspace]);
  const [row] = await read(sql.dropEvents, [workspace, upTo, limit]);
  return row?.[0] as number;
}
