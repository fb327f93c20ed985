/**
 * Reads events, and deletes the oldest that retention no longer keeps, a few in each transaction of the group
 * commit. What could be deleted is counted in the housekeeper's thread.
 */
import type { EventRow } from "../../rows.ts";
import type { EventSurvey, SurveyEvents } from "../../store.ts";
import { eventGroup, eventGroupOf, eventsOf } from "../event-groups.ts";
import { eventGroupSum } from "../row-sums.ts";
import { numberOf, scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";

/** Returns up to `limit` events with a number above `after`, oldest first. */
export function readEvents(
  sql: Statements,
  workspace: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): EventRow[] {
  const events: EventRow[] = [];
  for (const row of sql.eventGroups.iterate(workspace, after)) {
    events.push(...eventsOf(eventGroupOf(row)).filter(({ number }) => number > after));
    if (events.length >= limit) break;
  }
  return events.slice(0, limit);
}

/** Returns which events are too old or too many. */
export function surveyEvents(
  sql: Statements,
  workspace: number,
  { before = 0, keep }: SurveyEvents,
): EventSurvey {
  const newest = numberOf(sql.newestEvent.get(workspace));
  const young = scalarOf<number>(sql.firstEventSince.get(workspace, before)) ?? newest;
  const surplus = keep === undefined ? 0 : eventBeyond(sql, workspace, keep);
  const upTo = Math.min(Math.max(young - 1, surplus), newest - 1);
  const events = numberOf(sql.countEvents.get(workspace, upTo));
  return { upTo: events === 0 ? 0 : upTo, events };
}

/** Returns the number of the newest event beyond the `keep` newest; 0 if there are not so many. */
function eventBeyond(sql: Statements, workspace: number, keep: number): number {
  let kept = 0;
  for (const row of sql.eventGroupSizes.iterate(workspace)) {
    const [last, count] = row as unknown as [number, number];
    if (kept + count > keep) return last - (keep - kept);
    kept += count;
  }
  return 0;
}

/** Deletes up to `limit` events, never the newest. Returns how many. */
export function pruneEvents(
  tx: Transaction,
  name: string,
  { upTo, limit }: { readonly upTo: number; readonly limit: number },
): number {
  const workspace = tx.workspace(name);
  const end = Math.min(upTo, numberOf(tx.sql.newestEvent.get(workspace)) - 1);
  let gone = 0;
  let whole = 0;
  for (const row of tx.sql.oldestEventGroups.all(workspace, end, limit)) {
    const [last, count] = row as unknown as [number, number];
    const old = Math.min(count, end - last + count, limit - gone);
    if (old > 0 && old < count) dropFirst(tx, workspace, { last, old });
    if (old === count) whole = last;
    gone += Math.max(old, 0);
  }
  tx.sql.dropEventGroups.run(workspace, whole);
  return gone;
}

/** Deletes the first events of a row; the others keep their numbers. */
function dropFirst(
  tx: Transaction,
  workspace: number,
  { last, old }: { readonly last: number; readonly old: number },
): void {
  const group = eventGroupOf(tx.sql.eventGroup.get(last));
  const left = eventGroup(eventsOf(group).slice(old), group);
  tx.sql.shortenEventGroup.run(left.count, left.text, eventGroupSum(workspace, left), last);
}
