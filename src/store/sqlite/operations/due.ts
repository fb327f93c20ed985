/**
 * Finds deliveries that are due. Retries become ready with the next claim. Deliveries that need a decision
 * (past their time, past their lease, or held by a process that has ended) are only listed; the hub that
 * lists them decides and moves them.
 */

import { deliveryOf } from "../../codecs.ts";
import type { DeliveryRow } from "../../rows.ts";
import type { ListDue } from "../../store.ts";
import { scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";
import { positionedDeliveryOf } from "./deliveries.ts";

/** Makes retries ready that are due. */
export function makeRetriesReady(tx: Transaction, workspace: number): void {
  if (tx.matureOnce(workspace)) tx.sql.makeDue.run(workspace, tx.now);
}

/** Returns the milliseconds until something falls due: 0 if something is, Infinity if nothing will be. */
export function nextDue({ sql, now }: Pick<Transaction, "now" | "sql">, workspace: number): number {
  const times = [sql.nextRetry, sql.nextExpiry, sql.nextLapse].map(
    (next) => scalarOf<number>(next.get(workspace)) ?? Number.POSITIVE_INFINITY,
  );
  return Math.max(0, Math.min(...times) - now);
}

/** Returns how many retries are due, up to the limit. */
export function countDueRetries(
  sql: Statements,
  workspace: number,
  { limit, now }: { readonly limit: number; readonly now: number },
): number {
  return scalarOf<number>(sql.dueRetries.get(workspace, now, limit)) ?? 0;
}

/** Returns each delivery once: those past their time, then past their lease, then of ended processes. */
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

/** Returns them by place, then oldest first. */
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
