/** What a holder is told that would settle work to which its sender has added something since. */
import { BatonError } from "../../base/errors.ts";
import type { DeliveryRow, EnvelopeRow } from "../../store/rows.ts";

interface Held {
  readonly delivery: Pick<DeliveryRow, "id" | "acceptedAt">;
  readonly envelope: Pick<EnvelopeRow, "id" | "storedAt">;
}

/** An envelope that came after the acceptance; whoever goes on by a handle may not have seen it. */
export function requireSeen({ delivery, envelope }: Held, seen: string | undefined): void {
  if (envelope.storedAt <= delivery.acceptedAt || envelope.id === seen) return;
  throw unseen(delivery.id, envelope.id);
}

export function unseen(delivery: string, envelope: string): BatonError {
  return new BatonError("not_open", {
    message: `The sender has added to ${delivery} since it was accepted: look at ${envelope} first.`,
    path: "seen",
    hint: `Read what counts now, then do it again with seen: "${envelope}".`,
    details: { delivery, envelope },
  });
}
