/** Refuses to settle work that its sender has extended since the holder last read it. The lease is kept. */
import { BatonError } from "../../base/errors.ts";
import type { Delivery } from "../../history/delivery.ts";
import type { EnvelopeRow } from "../../store/rows.ts";

interface AcceptedWork {
  readonly delivery: Pick<Delivery, "id" | "acceptedAt">;
  readonly envelope: Pick<EnvelopeRow, "id" | "storedAt">;
}

/** Throws `work_extended` if the envelope is newer than the acceptance and is not the one in `seen`. */
export function requireSeen({ delivery, envelope }: AcceptedWork, seen: string | undefined): void {
  if (envelope.storedAt <= (delivery.acceptedAt ?? 0) || envelope.id === seen) return;
  throw unseenEnvelope(delivery.id, envelope.id);
}

/** Returns the error for work resumed by its handle: the new envelope has to be confirmed with `seen`. */
export function unseenEnvelope(delivery: string, envelope: string): BatonError {
  return new BatonError("work_extended", {
    message: `The sender has extended ${delivery} since it was accepted: read ${envelope} first.`,
    path: "seen",
    hint: `Read the new envelope, then call again with seen: "${envelope}".`,
    details: { delivery, envelope },
  });
}

/** Returns the error for a `Work` object, which already has the new envelope. */
export function workExtended(delivery: string, envelope: string): BatonError {
  return new BatonError("work_extended", {
    message: `The sender has extended ${delivery}: read ${envelope} first.`,
    hint: "Read work.envelope, which is the new envelope now, then call the method again.",
    details: { delivery, envelope },
  });
}
