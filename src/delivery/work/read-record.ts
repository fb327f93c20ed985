/**
 * Reading a record at the level somebody wants: a line, its summary, the gist, or all of it; and the
 * freshest of it, which says so when it superseded the one that was asked for. The sender's own summary
 * comes first, then a stored one or a configured model's, else the record's own sentences.
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

export const ReadOptionsSchema = z.strictObject({
  /** As it was then: what was written later is not there yet. */
  asOf: AsOfSchema.optional(),
  /** What holds in its place, where it was superseded or corrected. */
  freshest: z.boolean().default(false),
  /** How much of it; then also its `text`. */
  level: LevelSchema.optional(),
  /** The delivery in whose views it has a short id. */
  of: DeliveryId.optional(),
});

export type ReadOptions = z.input<typeof ReadOptionsSchema>;

/** Whose words a text is in. */
export type TextBy = Summary["by"];

/** A record as it was asked for. */
export interface ReadMemory extends Memory {
  /** The record that was asked for, where this one holds in its place. */
  readonly insteadOf?: string;
  /** There when a level was asked for: the text at that level, and whose words it is in. */
  readonly level?: DetailLevel;
  readonly text?: string;
  readonly textBy?: TextBy;
  /** Of a part of an envelope: the value itself; `text` has it for a reader. */
  readonly value?: unknown;
}

/** A record by its id: exactly that, unless the freshest is asked for. */
export async function readRecord(
  workspace: Workspace,
  id: string,
  options: ReadOptions = {},
  /** What the sender of a handoff said of what it refers to. */
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
  // What the sender said of it, it said of the record that was sent.
  const sent = refs.find((ref) => ref.id === memory.id)?.summary;
  return { ...memory, level, ...(await textAt(workspace, memory, level, sent)) };
}

/** A part of a handoff, with the record of its handoff; readable by agents that may read that record. */
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

/** What holds in its place; the record itself where nothing does, with what became of it. */
async function freshestOf(
  workspace: Workspace,
  asked: Memory,
  asOf: z.output<typeof AsOfSchema> | undefined,
): Promise<ReadMemory> {
  const sight = await visibilityOf(workspace, { asOf });
  const { by } = (await findSupersessions(workspace, sight, [asked.id])).get(asked.id) ?? {};
  return by === undefined ? asked : { ...by, insteadOf: asked.id };
}

/** What a summary may take: some sentences. */
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
