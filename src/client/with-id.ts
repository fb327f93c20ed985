/** Assigns ids to memories in the client, so that a retry after a lost response stores the same record. */
import type { IdGenerator } from "../base/ids.ts";

/** Returns a memory or trace step with an id. Any other value is returned as it is; the hub refuses it. */
export function withId<Input extends { readonly id?: string | undefined }>(
  ids: IdGenerator,
  input: Input,
): Input {
  if (typeof input !== "object" || input === null || input.id !== undefined) return input;
  return { ...input, id: ids.mint("memory") };
}
