/** What many answers are made of. */
import * as z from "zod";

export const Text = z.string();
export const Texts = z.array(z.string());
export const Count = z.int().min(0);
export const Instant = z
  .int()
  .min(0)
  .meta({ description: "Milliseconds since 1970-01-01T00:00:00Z" });

/** Says that it was done, where there is nothing else to say. */
export const Done = z
  .strictObject({ done: z.literal(true) })
  .meta({ id: "Done", description: "It was done." });

export const DONE = { done: true } as const;

/** A page of a list; `cursor` is what `next` and `after` are. */
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
