/**
 * Renders a record at a level of detail: one line that names it, a summary, the gist, or all of it. The
 * sender's summary is used if there is one; otherwise the text is extracted from the record's own sentences,
 * which is deterministic.
 */
import type { DetailLevel } from "../../envelope/schema.ts";
import type { Memory } from "../../memory/record.ts";
import { extract, firstWords } from "../../text/extract.ts";
import { visibleText } from "../../text/visible.ts";
import { textOfRecord } from "./record-text.ts";

/** Largest length of each level, in characters. */
export const LEVEL_LENGTH = { reference: 80, summary: 320, detail: 1_200 } as const;

/** Returns the text of a record at a level. Ends in " …" if it was shortened. */
export function textAtLevel(memory: Memory, level: DetailLevel, summary?: string): string {
  if (level === "full") return textOfRecord(memory);
  const content = visibleText(textOfRecord(memory));
  switch (level) {
    case "detail":
      return extract(content, LEVEL_LENGTH.detail);
    case "summary":
      return summary ?? extract(content, LEVEL_LENGTH.summary);
    case "reference":
      return firstWords(visibleText(summary ?? memory.content).trim(), LEVEL_LENGTH.reference);
  }
}
