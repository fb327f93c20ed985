/** A memory gets its id here: sent again after an answer that got lost, it is the same memory. */
import type { Ids } from "../ids.ts";
import type { MemoryInput } from "../memory/record.ts";

/** What is no memory is left as it is, for the hub to refuse. */
export function withId(ids: Ids, input: MemoryInput): MemoryInput {
  if (typeof input !== "object" || input === null || input.id !== undefined) return input;
  return { ...input, id: ids.mint("memory") };
}
