/**
 * What time brings about. Retries become ready by themselves, with the next claim; what has to be
 * decided about (past its time, past its lease, held by a process that is no more) is only listed:
 * whoever sees it decides, and moves it.
 */

import { deliveryOf } from "../../codecs.ts";
import type { DeliveryRow } from "../../rows.ts";
import type { ListDue } from "../../store.ts";
import { scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";
import { positionedDeliveryOf } from "./deliveries.ts";

/** Retries whose time has come. */
export function makeRetriesReady(tx: Transaction, workspace: number): void {
  if (tx.matureOnce(workspace)) tx.sql.makeDue.run(workspace, tx.now);
}

/** In how many milliseconds something falls due: 0 when it has, Infinity when nothing will. */
export function nextDue({ sql, now }: Transaction, workspace: number): number {
  const times = [sql.nextRetry, sql.nextExpiry, sql.nextLapse].map(
    (next) => scalarOf<number>(next.get(workspace)) ?? Number.POSITIVE_INFINITY,
  );
  return Math.max(0, Math.min(...times) - now);
}

/** Each once: past their time, then past their lease, then of the gone. */
export function dueDeliveries(
  sql: Statements,
  workspace: number,
  { gone, limit, now }: Pick<ListDue, "gone" | "limit"> & { readonly now: number },
): DeliveryRow[] {
  const due = [
    ...sql.lapsed.all(workspace, now, limit).map(deliveryOf),
    ...sql.expiredLeases.all(workspace, now, limit).map(deliveryOf),
    ...heldByEndedProcesses(sql, workspace, { gone, limit }),
  ];
  const first = new Map<string, DeliveryRow>();
  for (const delivery of due) if (!first.has(delivery.id)) first.set(delivery.id, delivery);
  return [...first.values()].slice(0, limit);
}

/** In the order of their places; of those with the same one, the older first. */
function heldByEndedProcesses(
  sql: Statements,
  workspace: number,
  { gone, limit }: Pick<ListDue, "gone" | "limit">,
): DeliveryRow[] {
  return [...new Set(gone)]
    .flatMap((process) =>
      sql.heldByProcess.all(workspace, process, limit).map(positionedDeliveryOf),
    )
    .sort((a, b) => a.delivery.place - b.delivery.place || a.position - b.position)
    .map(({ delivery }) => delivery);
}
