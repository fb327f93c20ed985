/** What a sender, a receiver and a holder have in hand, as it travels. */

import type { Finding, Repeat } from "../context/lint/rule.ts";
import type { ReservationConflict } from "../coordination/reservations/conflicts.ts";
import type { SentHandoff } from "../delivery/send/idempotency-key.ts";
import type { DetectedSecret } from "../envelope/mask-secrets.ts";
import type { Envelope } from "../envelope/schema.ts";
import type { DeprecatedField } from "../envelope/versions.ts";
import type { Background } from "../history/background.ts";
import type { Delivery, HeldDelivery } from "../history/delivery.ts";

export {
  ATTEMPT_OUTCOMES,
  DELIVERY_STATES,
} from "../store/rows.ts";

/** After sending: everything `Sent` tells without asking again. */
export interface SerializedSent {
  readonly kind: "sent";
  readonly envelope: Envelope;
  readonly digest: string;
  /** The handoff record on the chain. */
  readonly memory: string;
  readonly joined: SentHandoff<unknown>["joined"];
  readonly cycle: NonNullable<Envelope["path"]>;
  readonly stopped: boolean;
  readonly deprecated: readonly DeprecatedField[];
  readonly deliveries: readonly Delivery[];
  /** Which secrets were taken out of what was said: of which kind, and where they stood. */
  readonly secrets: readonly DetectedSecret[];
  /** What the lint finds in it. */
  readonly findings: readonly Finding[];
  /** Earlier handoffs it repeats. */
  readonly repeats: readonly Repeat[];
}

/** An offer, claimed for the caller's session. */
export interface SerializedOffer extends Background {
  readonly handle: string;
  readonly delivery: HeldDelivery;
  readonly envelope: Envelope;
  /** What to know before the first step, in less than 2 KB. */
  readonly primer: string;
}

/** Accepted work. */
export interface SerializedWork extends Background {
  readonly handle: string;
  readonly delivery: HeldDelivery;
  readonly envelope: Envelope;
  /** What to know before the first step, in less than 2 KB. */
  readonly primer: string;
  readonly conflicts: readonly ReservationConflict[];
}
