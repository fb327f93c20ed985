/**
 * Stores the idempotency key of a call as the key of the handoff it sends, if the draft has no key. A retry
 * after a hub restart then returns the original handoff instead of sending it twice.
 */
import { sha256 } from "../base/digest.ts";
import { Name } from "../envelope/schema.ts";
import type { OperationContext } from "./operation.ts";

/** Returns the draft with the key of the call; a key that is not a valid name is hashed. */
export function withIdempotencyKey<Draft extends { readonly key?: string | undefined }>(
  { key }: OperationContext,
  draft: Draft,
): Draft {
  // An invalid draft is passed on as it is: the method that receives it refuses it.
  const isDraft = typeof draft === "object" && draft !== null && !Array.isArray(draft);
  if (key === undefined || !isDraft || draft.key !== undefined) return draft;
  return { ...draft, key: Name.safeParse(key).success ? key : sha256(key) };
}
