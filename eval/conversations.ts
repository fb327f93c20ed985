/**
 * Reads a file of conversations with questions about them: a list of
 * `{ sample_id, conversation: { session_1_date_time, session_1: [{ speaker, dia_id, text,
 * blip_caption? }], … }, qa: [{ question, evidence: [dia_id], category }] }`.
 */
import { readFileSync } from "node:fs";
import * as z from "zod";

const Turn = z.looseObject({
  speaker: z.string(),
  dia_id: z.string(),
  text: z.string().default(""),
  blip_caption: z.string().optional(),
});

const Question = z.looseObject({
  question: z.string(),
  evidence: z.array(z.string()).default([]),
  category: z.union([z.string(), z.number()]).default("none"),
});

const Sample = z.looseObject({
  sample_id: z.union([z.string(), z.number()]).transform(String),
  conversation: z.record(z.string(), z.unknown()),
  qa: z.array(Question),
});

export interface SpokenTurn {
  /** Conversation id and turn id; unique in the file. */
  readonly key: string;
  readonly speaker: string;
  readonly session: string;
  readonly text: string;
  /** The time of the session; undefined if the file has none. */
  readonly at: number | undefined;
}

export interface AskedQuestion {
  readonly text: string;
  readonly category: string;
  /** Keys of the turns that answer the question. */
  readonly evidence: readonly string[];
}

export interface Conversation {
  readonly id: string;
  /** In chronological order. */
  readonly turns: readonly SpokenTurn[];
  readonly questions: readonly AskedQuestion[];
  /** Number of questions that no search can answer: their evidence is not in the conversation. */
  readonly unanswerable: number;
}

export function readConversations(file: string): Conversation[] {
  const parsed = z.array(Sample).safeParse(JSON.parse(readFileSync(file, "utf8")));
  if (!parsed.success)
    throw new Error(`Invalid conversations in ${file}: ${z.prettifyError(parsed.error)}`);
  return parsed.data.map((sample) => {
    const turns = turnsOf(sample.sample_id, sample.conversation);
    const known = new Set(turns.map((turn) => turn.key));
    const asked = sample.qa
      .filter(({ evidence }) => evidence.length > 0)
      .map(({ question, category, evidence }) => ({
        text: question,
        category: String(category),
        // Some files join several ids with a semicolon, a comma or a space.
        evidence: evidence
          .flatMap((each) => each.split(/[;,\s]+/))
          .map((each) => `${sample.sample_id}/${each}`)
          .filter((key) => known.has(key)),
      }));
    const questions = asked.filter(({ evidence }) => evidence.length > 0);
    return {
      id: sample.sample_id,
      turns,
      questions,
      unanswerable: asked.length - questions.length,
    };
  });
}

function turnsOf(id: string, conversation: Record<string, unknown>): SpokenTurn[] {
  const sessions = Object.keys(conversation)
    .flatMap((key) => /^session_(\d+)$/.exec(key)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
  return sessions.flatMap((n) => {
    const at = timeOf(conversation[`session_${n}_date_time`]);
    return z
      .array(Turn)
      .parse(conversation[`session_${n}`])
      .filter((turn) => turn.text !== "" || turn.blip_caption !== undefined)
      .map((turn) => ({
        key: `${id}/${turn.dia_id}`,
        speaker: turn.speaker,
        session: `${id}/session ${n}`,
        text:
          turn.blip_caption === undefined
            ? turn.text
            : `${turn.text} [shares ${turn.blip_caption}]`,
        at,
      }));
  });
}

/** Parses "1:56 pm on 8 May, 2023", or any date that `Date.parse` accepts. */
function timeOf(dateText: unknown): number | undefined {
  if (typeof dateText !== "string") return undefined;
  const [, hour, minute, half, day] = /^(\d+):(\d+) ([ap]m) on (.+)$/.exec(dateText) ?? [];
  const time = Date.parse(day === undefined ? dateText : `${day.replace(",", "")} UTC`);
  if (Number.isNaN(time)) return undefined;
  if (day === undefined) return time;
  return (
    time + ((Number(hour) % 12) + (half === "pm" ? 12 : 0)) * 3_600_000 + Number(minute) * 60_000
  );
}
