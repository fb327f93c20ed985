/**
 * Renders the text of a view. It consists of blocks that each end their line, and begin neither with a space
 * nor with a slash: no token of the public tokenizers crosses such a boundary, so blocks that were counted
 * separately count the same together. Nothing in it depends on when it is rendered.
 */
import { sha256 } from "../../base/digest.ts";
import type { DetailLevel } from "../../envelope/schema.ts";
import type { Memory } from "../../memory/record.ts";
import { SECTIONS, type Section } from "../../profiles/view-parts.ts";
import { fenceLine, quoteText } from "../../text/fence.ts";
import { countBlock, type Tokenizer } from "../../text/tokens.ts";
import { LEVEL_LENGTH, textAtLevel } from "../detail/detail-level.ts";
import { textOfRecord } from "../detail/record-text.ts";
import type { Candidate } from "./candidates.ts";

const HEADINGS: Readonly<Record<Section, string>> = {
  task: "The task",
  constraints: "Constraints",
  decisions: "Still to be decided",
  pins: "Always holds",
  earlier: "Earlier on this task",
  references: "Referred to",
  neighbours: "Connected with that",
  recent: "Recently on this task",
  recalled: "Known already",
};

/** Returns the heading of a section. */
export const headingOf = (section: Section): string => `## ${HEADINGS[section]}\n`;

/** Returns the last line: how many candidates are omitted, and where they are listed. */
export const footerOf = (omitted: number): string =>
  omitted === 0
    ? ""
    : `(${omitted} more considered and left out: listed in the view's manifest.)\n`;

/** What is shown of a record besides its text. */
export type Marks = Pick<Candidate, "freshness" | "insteadOf" | "summary">;

/** A record that is shown, with its marks. */
type MarkedMemory = Pick<Candidate, "memory"> & Marks;

/** The view that a record is rendered in. */
export interface RenderContext {
  readonly task: string;
  /** The day of the handoff, which the head contains: records of that day need no date. */
  readonly day: string;
  /** Returns the name of a record in this view. */
  readonly nameOf: (id: string) => string;
}

/** Renders a record as a block: one line, unless its text has several. */
export const blockOf = (shown: MarkedMemory, level: DetailLevel, page: RenderContext): string =>
  `${headerOf(shown, page)}${bodyOf(shown, level)}`;

function headerOf({ memory, freshness, insteadOf }: MarkedMemory, page: RenderContext): string {
  const { id, task } = memory;
  const about = task === undefined || task === page.task ? "" : `, on ${quoteText(task)}`;
  // The reference is stale; this record superseded it.
  const stale = freshness === "stale" ? "STALE " : "";
  const instead = insteadOf === undefined ? "" : `, holds instead of ${stale}${insteadOf}`;
  return `- ${page.nameOf(id)}${about}${instead}:`;
}

/**
 * Returns the line before a group of records with the same type, author and day: repeated for each of them it
 * would take as many tokens as many records do. The time is the author's, which the digest covers.
 */
export function groupOf({ type, agent, createdAt }: Memory, { day }: RenderContext): string {
  const when = dayOf(createdAt) === day ? "" : `, ${dayOf(createdAt)}`;
  return `[${type}] by ${agent}${when}:\n`;
}

/** Returns the day of a time, in UTC. */
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

function bodyOf({ memory, summary }: MarkedMemory, level: DetailLevel): string {
  const text = textAtLevel(memory, level, summary);
  const quoted = level === "reference" ? fenceLine(text) : quoteText(text);
  const much = level === "summary" || level === "detail" ? `(${level}) ` : "";
  return ` ${much}${quoted}\n`;
}

/**
 * Returns the tokens of a record's block, cached by its content. Header and body meet between a colon and a
 * space, which no token crosses, and are counted separately: the header is the same at every level.
 */
export function blockTokens(
  tokenizer: Tokenizer,
  shown: MarkedMemory,
  level: DetailLevel,
  page: RenderContext,
): number {
  const { memory, freshness, insteadOf, summary } = shown;
  const about = memory.task === undefined || memory.task === page.task ? "" : "elsewhere";
  const summaryDigest = summary === undefined || level === "full" ? "" : sha256(summary);
  const head = [memory.digest, page.nameOf(memory.id), freshness, insteadOf, about].join(" ");
  const body = [level, memory.digest, summaryDigest].join(" ");
  return (
    countBlock(tokenizer, head, () => headerOf(shown, page)) +
    countBlock(tokenizer, body, () => bodyOf(shown, level))
  );
}

/** A text is summarized only if it is longer than the summary by this factor. */
const MIN_SHORTENING = 1.5;

/** Returns the levels that a record can be shown at, each with the level of its length. */
export function levelsOf({ memory, summary }: Pick<Candidate, "memory" | "summary">): {
  readonly level: DetailLevel;
  readonly fits: DetailLevel;
}[] {
  const { length } = textOfRecord(memory);
  const isLong = length > MIN_SHORTENING * LEVEL_LENGTH.detail;
  const isShort = length <= MIN_SHORTENING * LEVEL_LENGTH.summary;
  return [
    { level: "reference", fits: "reference" },
    ...(summary === undefined && isShort ? [] : [{ level: "summary", fits: "summary" } as const]),
    ...(isLong ? [{ level: "detail", fits: "detail" } as const] : []),
    { level: "full", fits: isShort ? "summary" : isLong ? "full" : "detail" },
  ];
}

/** A rendered part or record. */
export interface Block {
  readonly section: Section;
  /** The line before all blocks of its group. */
  readonly group?: string | undefined;
  readonly text: string;
}

/** The parts of a view's text. */
export interface Rendering {
  readonly head: string;
  /** In the order they are shown; a group is at the place of its first block. */
  readonly blocks: readonly Block[];
  readonly omitted: number;
}

/** Returns the text of a view. */
export function render({ head, blocks, omitted }: Rendering): string {
  const bySection = Map.groupBy(blocks, ({ section }) => section);
  const sections = SECTIONS.flatMap((section) => {
    const own = bySection.get(section);
    return own === undefined ? [] : [headingOf(section), ...grouped(own)];
  });
  return [head, ...sections, footerOf(omitted)].join("");
}

const grouped = (blocks: readonly Block[]): string[] =>
  [...Map.groupBy(blocks, ({ group }) => group ?? "")].flatMap(([group, own]) => [
    group,
    ...own.map(({ text }) => text),
  ]);
