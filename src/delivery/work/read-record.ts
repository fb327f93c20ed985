/**
 * Reads a record at a level of detail (one line, summary, gist or full text), and optionally its newest
 * version, marked with the record it superseded. A summary is the sender's if there is one, then a stored one
 * or that of a configured model, and otherwise an extract of the record's own sentences.
 */
import * as z from "zod";
import { textAtLevel } from "../../context/detail/detail-level.ts";
import { isHandoffPart, readHandoffPart } from "../../context/detail/handoff-part.ts";
import { textOfRecord } from "../../context/detail/record-text.ts";
import { type Summary, summaryOf } from "../../context/detail/summary.ts";
import {
  DETAIL_LEVELS,
  DeliveryId,
  type DetailLevel,
  type Envelope,
} from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { AsOfSchema } from "../../memory/as-of.ts";
import { readMemory } from "../../memory/read.ts";
import type { Memory } from "../../memory/record.ts";
import { findSupersessions } from "../../memory/supersession.ts";
import { visibilityOf } from "../../memory/visibility.ts";
import { outlineOf, renderData } from "../../text/data-text.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { resolveShortId } from "./short-id-lookup.ts";

const LevelSchema = z.enum(DETAIL_LEVELS, { error: `must be one of ${DETAIL_LEVELS.join(", ")}` });

/** Options of reading a record. */
export const ReadOptionsSchema = z.strictObject({
  /** Reads the record as of this time: later writes are ignored. */
  asOf: AsOfSchema.optional(),
  /** Reads the record that superseded or corrected it, if there is one. */
  freshest: z.boolean().default(false),
  /** Level of detail; adds `text`. */
  level: LevelSchema.optional(),
  /** The delivery that a short id belongs to. */
  of: DeliveryId.optional(),
});

/** Options of reading a record. */
export type ReadOptions = z.input<typeof ReadOptionsSchema>;

/** The author of a text: the sender, the record, a model, or an extract. */
export type TextBy = Summary["by"];

/** A record as it was requested. */
export interface ReadMemory extends Memory {
  /** Id of the requested record; present if this one superseded it. */
  readonly insteadOf?: string;
  /** Level, text and the author of the text; present if a level was requested. */
  readonly level?: DetailLevel;
  readonly text?: string;
  readonly textBy?: TextBy;
  /** The value of a part of an envelope; `text` contains it in readable form. */
  readonly value?: unknown;
}

/** Returns a record by its id, or what superseded it if `freshest` is set. Throws `unknown_memory`. */
export async function readRecord(
  workspace: Workspace,
  id: string,
  options: ReadOptions = {},
  /** The sender's summaries of the records that its handoff references. */
  refs: Envelope["refs"] = [],
): Promise<ReadMemory> {
  const { asOf, freshest, level, of } = parseOrThrow(ReadOptionsSchema, options, {
    code: "invalid_input",
    what: "The options",
  });
  const whole = of === undefined ? id : await resolveShortId(workspace, of, id);
  if (isHandoffPart(whole)) return readPart(workspace, whole, { asOf, level });
  const asked = await readMemory(workspace, whole, { asOf });
  const memory = freshest ? await freshestOf(workspace, asked, asOf) : asked;
  if (level === undefined) return memory;
  // The sender's summary describes the record that was sent, not what superseded it.
  const sent = refs.find((ref) => ref.id === memory.id)?.summary;
  return { ...memory, level, ...(await textAt(workspace, memory, level, sent)) };
}

/**
 * Returns a part of a handoff with the record of its handoff; readable by agents that may read that record.
 */
async function readPart(
  workspace: Workspace,
  id: string,
  { asOf, level = "full" }: Pick<z.output<typeof ReadOptionsSchema>, "asOf" | "level">,
): Promise<ReadMemory> {
  const { memory, value } = await readHandoffPart(workspace, id);
  const handoff = await readMemory(workspace, memory, { asOf });
  if (handoff.redacted !== undefined) return handoff;
  const text = level === "full" ? renderData(value) : outlineOf(value);
  return { ...handoff, level, text, textBy: level === "full" ? "sender" : "extract", value };
}

/** Returns the record that superseded this one; the record itself if none did. */
async function freshestOf(
  workspace: Workspace,
  asked: Memory,
  asOf: z.output<typeof AsOfSchema> | undefined,
): Promise<ReadMemory> {
  const sight = await visibilityOf(workspace, { asOf });
  const { by } = (await findSupersessions(workspace, sight, [asked.id])).get(asked.id) ?? {};
  return by === undefined ? asked : { ...by, insteadOf: asked.id };
}

/** Largest size of a summary in tokens: some sentences. */
const SUMMARY_TOKENS = 100;

async function textAt(
  workspace: Workspace,
  memory: Memory,
  level: DetailLevel,
  sent: string | undefined,
): Promise<{ readonly text: string; readonly textBy: TextBy }> {
  const isShort = level === "summary" || level === "reference";
  if (isShort && sent !== undefined)
    return { text: textAtLevel(memory, level, sent), textBy: "sender" };
  if (level === "summary") {
    const { text, by } = await summaryOf(workspace, memory, SUMMARY_TOKENS);
    return { text, textBy: by };
  }
  const text = textAtLevel(memory, level);
  return { text, textBy: text === textOfRecord(memory) ? "record" : "extract" };
}
