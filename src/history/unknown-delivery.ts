/** Parses delivery ids, and creates the error for an unknown delivery. */

import { BatonError } from "../base/errors.ts";
import { DeliveryId } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";

/** Returns a valid delivery id. Throws `invalid_input`. */
export const parseDeliveryId = (id: unknown): string =>
  parseOrThrow(DeliveryId, id, { code: "invalid_input", what: "The delivery", prefix: "delivery" });

/** Returns the error `unknown_delivery`. */
export function unknownDelivery(id: string): BatonError {
  return new BatonError("unknown_delivery", {
    message: `Delivery ${id} not found.`,
    path: "delivery",
    hint: "Check the id and the workspace, and whether the store was replaced by an older copy.",
    details: { delivery: id },
  });
}
