/** One delivery in full: its state, every time, every attempt and its outcome. */

import type { Envelope } from "../../envelope/schema.ts";
import { type Attempt, attemptOf } from "../../history/attempt.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { type HandoffResult, hasOutcome, readOutcome } from "../../history/outcome.ts";
import { unknownDelivery } from "../../history/unknown-delivery.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { digestOf } from "../../store/redaction.ts";
import { type DeliveryRow, isOpen } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { checkWaitOptions, type WaitOptions } from "./wait-options.ts";
import { watchDelivery } from "./watch.ts";

/** A delivery with its envelope, attempts and outcome. */
export interface DeliveryDetails {
  readonly delivery: Delivery;
  readonly envelope: Envelope;
  /** SHA-256 of the envelope. */
  readonly digest: string;
  /** Id of the handoff record on the chain. */
  readonly memory: string;
  /** When this envelope was stored; later than the acceptance if the sender extended the work since. */
  readonly sentAt: number;
  /** Attempts that ended without completing, oldest first. */
  readonly attempts: readonly Attempt[];
  /** The result; only if completed. */
  readonly result?: HandoffResult;
  /** The reason; only if declined or cancelled. */
  readonly reason?: string;
  /** The question; only if it waits for an answer. */
  readonly question?: string;
}

/** Returns a delivery in full; throws `unknown_delivery`. */
export async function showDelivery(workspace: Workspace, id: string): Promise<DeliveryDetails> {
  const { store, name } = workspace;
  const found = await store.findDelivery(name, id);
  if (found === undefined) throw unknownDelivery(id);
  const { delivery, envelope } = found;
  return {
    delivery: deliveryOf(delivery),
    envelope: parseEnvelope(workspace, envelope),
    digest: digestOf(envelope),
    memory: envelope.memory,
    sentAt: envelope.storedAt,
    attempts: (await store.readAttempts(name, id)).map(attemptOf),
    ...(await outcomeFieldsOf(workspace, delivery)),
  };
}

async function outcomeFieldsOf(
  workspace: Workspace,
  delivery: DeliveryRow,
): Promise<Pick<DeliveryDetails, "result" | "reason" | "question">> {
  if (!hasOutcome(delivery.state)) return {};
  const ended = await readOutcome(workspace, delivery);
  switch (ended.kind) {
    case "completed":
      return { result: ended.result };
    case "declined":
    case "cancelled":
      return { reason: ended.reason };
    case "asked":
      return { question: ended.question };
    default:
      return {};
  }
}

/** Yields the delivery as it is now and after every change, until it is settled. */
export async function* followDelivery(
  workspace: Workspace,
  id: string,
  options: WaitOptions,
): AsyncGenerator<Delivery, void, undefined> {
  for await (const { delivery } of watchDelivery(workspace, id, checkWaitOptions(options))) {
    yield deliveryOf(delivery);
    if (!isOpen(delivery.state)) return;
  }
}
