/**
 * What a sender adds to a handoff while somebody works on it. A model that goes on by a handle may not
 * have seen it: it is shown before the work is settled, once, and then named as seen.
 */
import { isBatonError } from "../base/errors.ts";
import type { Connection } from "./tool.ts";

export interface UnseenExtension {
  readonly handoff: string;
  readonly envelope: string;
}

/** An addition that came after the work was accepted; undefined when there is none, or it was seen. */
export async function findUnseenExtension(
  { hub }: Connection,
  handoff: string,
  seen: string | undefined,
): Promise<UnseenExtension | undefined> {
  const { delivery, envelope, sentAt } = await hub.deliveries.get(handoff);
  if (sentAt <= (delivery.acceptedAt ?? 0) || envelope.id === seen) return undefined;
  return { handoff, envelope: envelope.id };
}

/** An error that says that the sender extended the work, as an outcome; any other is thrown on. */
export function extensionOutcomeOf(error: unknown): {
  readonly kind: "extended";
  readonly unseen: UnseenExtension;
} {
  if (!isBatonError(error) || error.code !== "work_extended") throw error;
  const { delivery, envelope } = error.details as { delivery: string; envelope: string };
  return { kind: "extended", unseen: { handoff: delivery, envelope } };
}

export async function describeExtension(
  { hub }: Connection,
  { handoff, envelope }: UnseenExtension,
): Promise<{ readonly text: string; readonly task: string }> {
  const { delivery } = await hub.deliveries.get(handoff);
  const told = `Nothing was done yet: the sender has added to this handoff. Look at what counts now, then make the same call again with seen: "${envelope}".`;
  return { text: `${told}\n${await hub.deliveries.primer(handoff)}`, task: delivery.task };
}
