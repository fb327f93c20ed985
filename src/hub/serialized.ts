/** `Sent`, `Offer` and `Work` as plain data, as HTTP and MCP transmit them. */

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

/** A handoff that was sent: every property of `Sent` that is available without another request. */
export interface SerializedSent {
  readonly kind: "sent";
  readonly envelope: Envelope;
  readonly digest: string;
  /** The id of the handoff record on the chain. */
  readonly memory: string;
  readonly joined: SentHandoff<unknown>["joined"];
  readonly cycle: NonNullable<Envelope["path"]>;
  readonly stopped: boolean;
  readonly deprecated: readonly DeprecatedField[];
  readonly deliveries: readonly Delivery[];
  /** Secrets that were removed from the input, by kind and path. */
  readonly secrets: readonly DetectedSecret[];
  /** What the lint found. */
  readonly findings: readonly Finding[];
  /** Earlier handoffs that this one repeats. */
  readonly repeats: readonly Repeat[];
}

/** An offer, claimed for the session of the caller. */
export interface SerializedOffer extends Background {
  readonly handle: string;
  readonly delivery: HeldDelivery;
  readonly envelope: Envelope;
  /** The primer: what to know before the first step, in less than 2 KB. */
  readonly primer: string;
}

/** Accepted work. */
export interface SerializedWork extends Background {
  readonly handle: string;
  readonly delivery: HeldDelivery;
  readonly envelope: Envelope;
  /** The primer: what to know before the first step, in less than 2 KB. */
  readonly primer: string;
  /** Reservations of other agents that overlap with those of this work. */
  readonly conflicts: readonly ReservationConflict[];
}
