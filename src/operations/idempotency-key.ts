/**
 * What was handed over under an idempotency key is handed over once, whatever becomes of the hub: where the
 * sender gave the draft no key of its own, the key of the call is kept with what it sent.
 */
import { sha256 } from "../base/digest.ts";
import { Name } from "../envelope/schema.ts";
import type { OperationContext } from "./operation.ts";

export function withIdempotencyKey<Draft extends { readonly key?: string | undefined }>(
  { key }: OperationContext,
  draft: Draft,
): Draft {
  // What is no draft is told so by whoever it is sent to.
  const isDraft = typeof draft === "object" && draft !== null && !Array.isArray(draft);
  if (key === undefined || !isDraft || draft.key !== undefined) return draft;
  return { ...draft, key: Name.safeParse(key).success ? key : sha256(key) };
}
