/** Delivery truth: one delivery as it stands, with every time, every try, and what came of it. */

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

export interface DeliveryDetails {
  readonly delivery: Delivery;
  readonly envelope: Envelope;
  readonly digest: string;
  /** The handoff record on the chain. */
  readonly memory: string;
  /** When this envelope was stored: later than the acceptance when the sender added to it since. */
  readonly sentAt: number;
  /** Tries that ended without completing, first to last. */
  readonly attempts: readonly Attempt[];
  /** Of a completed one. */
  readonly result?: HandoffResult;
  /** Of one that was declined or cancelled. */
  readonly reason?: string;
  /** Of one that waits for an answer. */
  readonly question?: string;
}

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

/** The delivery each time it has changed, first as it is now, until it is settled. */
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
