/** Refuses to settle work that its sender has extended since the holder last read it. The lease stays. */
import { BatonError } from "../../base/errors.ts";
import type { Delivery } from "../../history/delivery.ts";
import type { EnvelopeRow } from "../../store/rows.ts";

interface AcceptedWork {
  readonly delivery: Pick<Delivery, "id" | "acceptedAt">;
  readonly envelope: Pick<EnvelopeRow, "id" | "storedAt">;
}

/** An envelope that came after the acceptance; whoever goes on by a handle may not have seen it. */
export function requireSeen({ delivery, envelope }: AcceptedWork, seen: string | undefined): void {
  if (envelope.storedAt <= (delivery.acceptedAt ?? 0) || envelope.id === seen) return;
  throw unseenEnvelope(delivery.id, envelope.id);
}

export function unseenEnvelope(delivery: string, envelope: string): BatonError {
  return new BatonError("work_extended", {
    message: `The sender has extended ${delivery} since it was accepted: read ${envelope} first.`,
    path: "seen",
    hint: `Read the new envelope, then call again with seen: "${envelope}".`,
    details: { delivery, envelope },
  });
}

/** The same for a holder that has the work in hand: its `envelope` is the new one already. */
export function workExtended(delivery: string, envelope: string): BatonError {
  return new BatonError("work_extended", {
    message: `The sender has extended ${delivery}: read ${envelope} first.`,
    hint: "Read the envelope, which is the new one now, then call it again.",
    details: { delivery, envelope },
  });
}
