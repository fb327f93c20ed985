/** Waits until a delivery is accepted, or until it has an outcome. */
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { endOfLine } from "../../history/line-end.ts";
import { type DeliveryOutcome, hasOutcome, readOutcome } from "../../history/outcome.ts";
import { type DeliveryRow, isOpen } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import {
  type CompletedOptions,
  checkCompletedOptions,
  checkWaitOptions,
  type WaitOptions,
} from "./wait-options.ts";
import { watchDelivery } from "./watch.ts";

/** The wait ended first; `delivery` is the current state. */
export interface WaitTimeout {
  readonly kind: "timeout";
  readonly delivery: Delivery;
}

/** How a wait for acceptance ends. */
export type AcceptedOutcome =
  | { readonly kind: "accepted"; readonly delivery: Delivery }
  | Exclude<DeliveryOutcome, { kind: "completed" | "asked" }>
  | WaitTimeout;

/** How a wait for completion ends. */
export type CompletedOutcome = DeliveryOutcome | WaitTimeout;

/** Waits until the delivery is accepted or can no longer be. */
export async function awaitAccepted(
  workspace: Workspace,
  id: string,
  options: WaitOptions,
): Promise<AcceptedOutcome> {
  let last: DeliveryRow | undefined;
  for await (const { delivery } of watchDelivery(workspace, id, checkWaitOptions(options))) {
    if (wasAccepted(delivery)) return { kind: "accepted", delivery: deliveryOf(delivery) };
    const ended = isOpen(delivery.state) ? undefined : await readOutcome(workspace, delivery);
    if (ended !== undefined && ended.kind !== "completed" && ended.kind !== "asked") return ended;
    last = delivery;
  }
  return { kind: "timeout", delivery: deliveryOf(last as DeliveryRow) };
}

const wasAccepted = ({ acceptedAt }: DeliveryRow): boolean => acceptedAt > 0;

/**
 * Waits until the delivery is over or its receiver asks a question; returns the result or why there is none.
 */
export async function awaitCompleted(
  workspace: Workspace,
  id: string,
  options: CompletedOptions,
): Promise<CompletedOutcome> {
  const { line, timeoutMs, signal } = checkCompletedOptions(options);
  const until = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
  for (let next = id; ; ) {
    const left = Math.max(0, until - performance.now());
    const last = await waitUntilEnded(workspace, next, { signal, timeoutMs: left });
    if (!hasOutcome(last.state)) return { kind: "timeout", delivery: deliveryOf(last) };
    const end = line ? await endOfLine(workspace, last.id) : undefined;
    if (end === undefined || end.delivery.id === last.id) return readOutcome(workspace, last);
    next = end.delivery.id; // It was handed on: wait for the delivery that continues it.
  }
}

async function waitUntilEnded(
  workspace: Workspace,
  id: string,
  watched: WaitOptions,
): Promise<DeliveryRow> {
  let last: DeliveryRow | undefined;
  for await (const { delivery } of watchDelivery(workspace, id, watched)) {
    last = delivery;
    if (hasOutcome(delivery.state)) break;
  }
  return last as DeliveryRow;
}
