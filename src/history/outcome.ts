/** The outcome of a handoff, as its sender sees it. */

import { memoryOf } from "../memory/record.ts";
import type { ViewGap } from "../memory/view-gap.ts";
import { type AttemptRow, type DeliveryRow, type DeliveryState, isOpen } from "../store/rows.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { type Attempt, attemptOf } from "./attempt.ts";
import { type Delivery, deliveryOf } from "./delivery.ts";
import { type AttemptFailure, failureOf } from "./failure.ts";
import { findDecision, type StoredFailureDecision } from "./failure-decisions.ts";
import { findHandedOnDelivery } from "./line-end.ts";

/** The result of a completed handoff. */
export interface HandoffResult {
  readonly summary: string;
  /** Values by the names of the expected outputs. */
  readonly outputs: Readonly<Record<string, unknown>>;
  /** From 0 to 1, as the receiver estimated it. */
  readonly confidence?: number | undefined;
  /** The receiver's one-word outcome; absent if it gave none. */
  readonly outcome?: string | undefined;
  /** References that the receiver could not resolve. */
  readonly gaps?: readonly ViewGap[] | undefined;
  /** The memory that contains the result. */
  readonly memory: string;
  /** The delivery to which the work was handed on, if it was. */
  readonly handedOn?: string | undefined;
}

/** The failure, and the decision about it if there is one. */
export interface FailureDetails {
  readonly failure: AttemptFailure;
  readonly decision?: StoredFailureDecision | undefined;
}

/** How a delivery ended; `kind` distinguishes the cases. */
export type DeliveryOutcome =
  | { readonly kind: "completed"; readonly delivery: Delivery; readonly result: HandoffResult }
  | (FailureDetails & {
      readonly kind: "declined";
      readonly delivery: Delivery;
      readonly reason: string;
    })
  /** The receiver asks a question: answer with `agent.questions.answer(delivery.id, …)`. */
  | { readonly kind: "asked"; readonly delivery: Delivery; readonly question: string }
  | (FailureDetails & {
      readonly kind: "dead";
      readonly delivery: Delivery;
      readonly attempts: readonly Attempt[];
    })
  | { readonly kind: "cancelled"; readonly delivery: Delivery; readonly reason: string }
  /** The deadline passed. */
  | (FailureDetails & { readonly kind: "expired"; readonly delivery: Delivery })
  /** A newer handoff replaced it before it was claimed. */
  | { readonly kind: "superseded"; readonly delivery: Delivery };

/** Returns true for states with an outcome for the sender: the final ones, and `waiting`. */
export const hasOutcome = (state: DeliveryState): boolean => !isOpen(state) || state === "waiting";

/** Reads the outcome of a delivery from its records. The state must have an outcome (`hasOutcome`). */
export async function readOutcome(
  workspace: Workspace,
  row: DeliveryRow,
): Promise<DeliveryOutcome> {
  const delivery = deliveryOf(row);
  switch (row.state) {
    case "completed":
      return { kind: "completed", delivery, result: await resultOf(workspace, row) };
    case "declined": {
      const reason = await readSettlementField(workspace, row, "reason");
      return { kind: "declined", delivery, reason, ...(await readFailureDetails(workspace, row)) };
    }
    case "cancelled": {
      const reason = await readSettlementField(workspace, row, "reason");
      return { kind: "cancelled", delivery, reason };
    }
    case "waiting": {
      const question = await readSettlementField(workspace, row, "question");
      return { kind: "asked", delivery, question };
    }
    case "dead": {
      const attempts = await workspace.store.readAttempts(workspace.name, delivery.id);
      return {
        kind: "dead",
        delivery,
        attempts: attempts.map(attemptOf),
        ...(await readFailureDetails(workspace, row, attempts)),
      };
    }
    case "expired":
      return { kind: "expired", delivery, ...(await readFailureDetails(workspace, row)) };
    case "superseded":
      return { kind: "superseded", delivery };
    default:
      throw new Error(`${delivery.id} has not ended: it is ${delivery.state}`);
  }
}

async function readFailureDetails(
  workspace: Workspace,
  { id, attempt, state }: DeliveryRow,
  attempts?: readonly AttemptRow[],
): Promise<FailureDetails> {
  const ended = attempts ?? (await workspace.store.readAttempts(workspace.name, id));
  const decision = await findDecision(workspace, { delivery: id, attempt });
  const failure = failureOf(ended.at(-1), state === "expired");
  return { failure, ...(decision && { decision }) };
}

async function readSettlementRecord({ store, name }: Workspace, { settledBy }: DeliveryRow) {
  const [row] = settledBy === "" ? [] : await store.readMemories(name, [settledBy]);
  return row && memoryOf(row);
}

async function readSettlementField(
  workspace: Workspace,
  delivery: DeliveryRow,
  field: string,
): Promise<string> {
  const memory = await readSettlementRecord(workspace, delivery);
  const value = memory?.data?.[field];
  return typeof value === "string" ? value : "";
}

/** Reads the result of a completed delivery. */
export async function resultOf(
  workspace: Workspace,
  delivery: DeliveryRow,
): Promise<HandoffResult> {
  const memory = await readSettlementRecord(workspace, delivery);
  // If the work was handed on with a result, the record is that of the handoff, and the summary is stored
  // beside the outputs.
  const data = (memory?.data ?? {}) as Partial<
    Pick<HandoffResult, "gaps" | "outcome" | "outputs" | "summary">
  >;
  const handedOn = await findHandedOnDelivery(workspace, delivery.settledBy);
  return {
    summary: data.summary ?? memory?.content ?? "",
    outputs: data.outputs ?? {},
    ...(memory?.confidence === undefined ? {} : { confidence: memory.confidence }),
    ...(data.outcome === undefined ? {} : { outcome: data.outcome }),
    ...(data.gaps === undefined ? {} : { gaps: data.gaps }),
    memory: delivery.settledBy,
    ...(handedOn === undefined ? {} : { handedOn }),
  };
}
