/** Waiting for what comes of a delivery: that somebody has taken it up, or that it is over. */
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { endOfLine } from "../../history/line-end.ts";
import { type Ended, endedAs, isEnded } from "../../history/outcome.ts";
import { type DeliveryRow, isOpen } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import {
  type CompletedOptions,
  checkedCompleted,
  checkedWait,
  type WaitOptions,
} from "./wait-options.ts";
import { changesOf } from "./watch.ts";

/** The wait was over before anything came of it: here is where it stands. */
export interface TimedOut {
  readonly kind: "timeout";
  readonly delivery: Delivery;
}

export type AcceptedAnswer =
  | { readonly kind: "accepted"; readonly delivery: Delivery }
  | Exclude<Ended, { kind: "completed" | "asked" }>
  | TimedOut;

export type CompletedAnswer = Ended | TimedOut;

/** Until somebody has accepted it, or never will. */
export async function awaitAccepted(
  workspace: Workspace,
  id: string,
  options: WaitOptions,
): Promise<AcceptedAnswer> {
  let last: DeliveryRow | undefined;
  for await (const { delivery } of changesOf(workspace, id, checkedWait(options))) {
    if (isTakenUp(delivery)) return { kind: "accepted", delivery: deliveryOf(delivery) };
    const ended = isOpen(delivery.state) ? undefined : await endedAs(workspace, delivery);
    if (ended !== undefined && ended.kind !== "completed" && ended.kind !== "asked") return ended;
    last = delivery;
  }
  return { kind: "timeout", delivery: deliveryOf(last as DeliveryRow) };
}

const isTakenUp = ({ acceptedAt }: DeliveryRow): boolean => acceptedAt > 0;

/** Until it is over, or the receiver asks back; with the result, or why there is none. */
export async function awaitCompleted(
  workspace: Workspace,
  id: string,
  options: CompletedOptions,
): Promise<CompletedAnswer> {
  const { line, timeoutMs, signal } = checkedCompleted(options);
  const until = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
  for (let next = id; ; ) {
    const left = Math.max(0, until - performance.now());
    const last = await ended(workspace, next, { signal, timeoutMs: left });
    if (!isEnded(last.state)) return { kind: "timeout", delivery: deliveryOf(last) };
    const end = line ? await endOfLine(workspace, last.id) : undefined;
    if (end === undefined || end.delivery.id === last.id) return endedAs(workspace, last);
    next = end.delivery.id; // It was handed on, and goes on as another.
  }
}

async function ended(workspace: Workspace, id: string, watched: WaitOptions): Promise<DeliveryRow> {
  let last: DeliveryRow | undefined;
  for await (const { delivery } of changesOf(workspace, id, watched)) {
    last = delivery;
    if (isEnded(delivery.state)) break;
  }
  return last as DeliveryRow;
}
