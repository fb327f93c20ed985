/** What a caller is told that asks for a delivery nobody knows, or by what is no id. */

import { BatonError } from "../base/errors.ts";
import { DeliveryId } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";

export const parseDeliveryId = (id: unknown): string =>
  parseOrThrow(DeliveryId, id, { code: "invalid_input", what: "The delivery", prefix: "delivery" });

export function unknownDelivery(id: string): BatonError {
  return new BatonError("unknown_delivery", {
    message: `No delivery has the id ${id}.`,
    path: "delivery",
    hint: "Check the id, and the workspace; was the store replaced by an older copy?",
    details: { delivery: id },
  });
}
