/** What is kept gets its id here: sent again after an answer that got lost, it is the same record. */
import type { IdGenerator } from "../base/ids.ts";

/** A memory, or a step of a trace. What is neither is left as it is, for the hub to refuse. */
export function withId<Input extends { readonly id?: string | undefined }>(
  ids: IdGenerator,
  input: Input,
): Input {
  if (typeof input !== "object" || input === null || input.id !== undefined) return input;
  return { ...input, id: ids.mint("memory") };
}
