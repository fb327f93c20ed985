/**
 * How much of a record is shown: a line that names it, its summary, the gist, all of it. The sender's
 * own summary comes first; without one it is taken from the record's own sentences, the same every time.
 */
import type { DetailLevel } from "../../envelope/schema.ts";
import type { Memory } from "../../memory/record.ts";
import { extract, firstWords } from "../../text/extract.ts";
import { textOfRecord } from "./record-text.ts";

/** What a level may take, in characters. */
export const LEVEL_LENGTH = { reference: 80, summary: 320, detail: 1_200 } as const;

/** The text of a record at a level. Ends in " …" where it was shortened. */
export function textAtLevel(memory: Memory, level: DetailLevel, summary?: string): string {
  const content = textOfRecord(memory);
  switch (level) {
    case "full":
      return content;
    case "detail":
      return extract(content, LEVEL_LENGTH.detail);
    case "summary":
      return summary ?? extract(content, LEVEL_LENGTH.summary);
    case "reference":
      return firstWords((summary ?? memory.content).trim(), LEVEL_LENGTH.reference);
  }
}
