/**
 * Finds and shows extensions: what a sender added to a handoff after it was accepted. A model that continues
 * by handle may not have seen one, so it is shown once before the work is settled, and then passed as seen.
 */
import { isBatonError } from "../base/errors.ts";
import type { Connection } from "./tool.ts";

/** An extension that the holder has not seen yet. */
export interface UnseenExtension {
  readonly handoff: string;
  readonly envelope: string;
}

/** Returns an extension sent after the work was accepted; undefined if there is none or it was seen. */
export async function findUnseenExtension(
  { hub }: Connection,
  handoff: string,
  seen: string | undefined,
): Promise<UnseenExtension | undefined> {
  const { delivery, envelope, sentAt } = await hub.deliveries.get(handoff);
  if (sentAt <= (delivery.acceptedAt ?? 0) || envelope.id === seen) return undefined;
  return { handoff, envelope: envelope.id };
}

/** Turns a work_extended error into an outcome; rethrows any other error. */
export function extensionOutcomeOf(error: unknown): {
  readonly kind: "extended";
  readonly unseen: UnseenExtension;
} {
  if (!isBatonError(error) || error.code !== "work_extended") throw error;
  const { delivery, envelope } = error.details as { delivery: string; envelope: string };
  return { kind: "extended", unseen: { handoff: delivery, envelope } };
}

/** Returns the text that shows an extension, with the new primer. */
export async function describeExtension(
  { hub }: Connection,
  { handoff, envelope }: UnseenExtension,
): Promise<{ readonly text: string; readonly task: string }> {
  const { delivery } = await hub.deliveries.get(handoff);
  const notice = `Nothing was done: the sender has extended this handoff. Read the new version below, then repeat the call with seen: "${envelope}".`;
  return { text: `${notice}\n${await hub.deliveries.primer(handoff)}`, task: delivery.task };
}
