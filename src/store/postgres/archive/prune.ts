/**
 * What retention takes from the database: the beginnings of traces, and the oldest events, a few rows
 * in each transaction. Under the workspace's lock, like every write: nobody refers to a step between
 * the look and the end of it.
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

/** The beginning of a trace that could go: nothing that stays refers to any of it. */
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
    end = heldBy - 1; // And what only the others referred to.
  }
}

/** One slice, inside a transaction of the caller's. */
export async function pruneTrace({ sql, read }: StatementRunner, operation: PruneTrace) {
  const { workspace, branch, upTo, limit } = operation;
  if (!isTraceBranch(branch)) return NOTHING;
  await read(sql.lockWorkspace, [workspace]);
  const [slice] = await read(sql.stepsFrom, [workspace, branch, upTo, limit]);
  const [last, position, newestPosition] = slice as [number | null, number | null, number];
  if (last === null) return NOTHING;
  const [held] = await read(sql.stepHeld, [workspace, branch, last, upTo]);
  const heldBy = (held?.[0] as number | undefined) ?? 0;
  // Along a chain positions rise: the newest record of all can only be the last.
  const newest = position === newestPosition ? last : last + 1;
  const end = Math.min(heldBy || newest, newest) - 1;
  // A hub that has read these steps would put them into the index after they were deleted from it.
  await read(sql.awaitIndex, [workspace]);
  const [gone] = await read(sql.dropSteps, [workspace, branch, end]);
  const [records, bytes] = gone as [number, number];
  return { records, bytes, heldBy };
}

export async function surveyEvents(
  { sql, read }: StatementRunner,
  { workspace, before = 0, keep }: SurveyEvents,
): Promise<EventSurvey> {
  const [row] = await read(sql.surveyEvents, [workspace, before, keep ?? null]);
  const [upTo, events] = row as [number, number];
  return { upTo: events === 0 ? 0 : upTo, events };
}

/** Inside a transaction of the caller's. */
export async function pruneEvents(
  { sql, read }: StatementRunner,
  workspace: string,
  { upTo, limit }: { readonly upTo: number; readonly limit: number },
): Promise<number> {
  await read(sql.lockWorkspace, [workspace]);
  const [row] = await read(sql.dropEvents, [workspace, upTo, limit]);
  return row?.[0] as number;
}
