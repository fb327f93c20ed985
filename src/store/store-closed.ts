/** What any operation on a closed store answers. */
import { BatonError } from "../base/errors.ts";

export function storeClosed(): BatonError {
  return new BatonError("store_closed", {
    message: "The hub was closed.",
    hint: "Open it again with openHub().",
  });
}
