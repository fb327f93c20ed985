/**
 * The full text of a record: its content and its data, such as the outputs of a result or the hints of a
 * failure.
 */
import type { Memory } from "../../memory/record.ts";
import { renderData } from "../../text/data-text.ts";

/** Returns the content followed by the data; values that the content repeats are omitted. */
export function textOfRecord({ content, data }: Pick<Memory, "content" | "data">): string {
  if (data === undefined) return content;
  const entries = Object.entries(data).filter(
    ([, value]) => !isEmpty(value) && !(typeof value === "string" && content.includes(value)),
  );
  if (entries.length === 0) return content;
  return `${content}\n${renderData(Object.fromEntries(entries))}`;
}

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;
