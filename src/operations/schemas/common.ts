/** Zod schemas shared by many operations: texts, counts, times, pages and the empty answer. */
import * as z from "zod";

export const Text = z.string();
export const Texts = z.array(z.string());
export const Count = z.int().min(0);
export const Instant = z
  .int()
  .min(0)
  .meta({ description: "Milliseconds since 1970-01-01T00:00:00Z" });

/** The response of an operation that returns no data. */
export const Done = z
  .strictObject({ done: z.literal(true) })
  .meta({ id: "Done", description: "The operation succeeded and returns no data." });

/** The value of every `Done` response. */
export const DONE = { done: true } as const;

/** Returns the schema of one page of a list. `cursor` is the schema of `next` (default: text). */
export const pageForm = <Item extends z.ZodType, Cursor extends z.ZodType = typeof Text>(
  item: Item,
  cursor: Cursor = Text as unknown as Cursor,
) =>
  z.strictObject({
    items: z.array(item),
    next: cursor.exactOptional().meta({
      description: "Pass as after to get the next page; absent on the last page",
    }),
  });
