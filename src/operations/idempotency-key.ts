/**
 * Stores the idempotency key of a call as the key of each handoff it sends, if its draft has no key. A retry
 * after a hub restart then returns the original handoffs instead of sending them twice.
 */
import { sha256 } from "../base/digest.ts";
import { Name } from "../envelope/schema.ts";
import type { OperationContext } from "./operation.ts";

/** Returns the drafts of one call, each with a key of its own derived from the key of the call. */
export function withIdempotencyKeys<Draft extends { readonly key?: string | undefined }>(
  acting: OperationContext,
  drafts: readonly Draft[],
): readonly Draft[] {
  const { key } = acting;
  if (key === undefined) return drafts;
  return drafts.map((draft, i) => withIdempotencyKey({ ...acting, key: `${key} ${i}` }, draft));
}

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
