/** The error that every operation on a closed store throws. */
import { BatonError } from "../base/errors.ts";

/** Returns the `store_closed` error. */
export function storeClosed(): BatonError {
  return new BatonError("store_closed", {
    message: "The hub was closed.",
    hint: "Open it again with openHub().",
  });
}
