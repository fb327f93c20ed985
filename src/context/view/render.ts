/**
 * The text of a view. Made of blocks that each end their line and begin neither with a space nor with a
 * slash: no token of the public tokenizers reaches over such a seam, so blocks that were counted alone
 * count the same together. Nothing in it depends on when it is rendered.
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

export const headingOf = (section: Section): string => `## ${HEADINGS[section]}\n`;

/** How many are not shown, and where they are. */
export const footerOf = (omitted: number): string =>
  omitted === 0
    ? ""
    : `(${omitted} more considered and left out: listed in the view's manifest.)\n`;

/** What of a record is shown besides its text. */
export type Marks = Pick<Candidate, "freshness" | "insteadOf" | "summary">;

/** A record that is shown, and what is known of it. */
type MarkedMemory = Pick<Candidate, "memory"> & Marks;

/** What a record is shown within. */
export interface RenderContext {
  readonly task: string;
  /** The day of the handoff, which its head names: what was written on it needs no date. */
  readonly day: string;
  /** What a record is called here. */
  readonly nameOf: (id: string) => string;
}

/** A record as a block: one line, unless its text has several. */
export const blockOf = (shown: MarkedMemory, level: DetailLevel, page: RenderContext): string =>
  `${headerOf(shown, page)}${bodyOf(shown, level)}`;

function headerOf({ memory, freshness, insteadOf }: MarkedMemory, page: RenderContext): string {
  const { id, task } = memory;
  const about = task === undefined || task === page.task ? "" : `, on ${quoteText(task)}`;
  // What was referred to is stale; this is what holds.
  const stale = freshness === "stale" ? "STALE " : "";
  const instead = insteadOf === undefined ? "" : `, holds instead of ${stale}${insteadOf}`;
  return `- ${page.nameOf(id)}${about}${instead}:`;
}

/**
 * What records of a section have in common is said once, on a line before them: with each of them it would
 * take as many tokens as many a record. Its author's time is told, which is part of what the digest covers.
 */
export function groupOf({ type, agent, createdAt }: Memory, { day }: RenderContext): string {
  const when = dayOf(createdAt) === day ? "" : `, ${dayOf(createdAt)}`;
  return `[${type}] by ${agent}${when}:\n`;
}

export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

function bodyOf({ memory, summary }: MarkedMemory, level: DetailLevel): string {
  const text = textAtLevel(memory, level, summary);
  const said = level === "reference" ? fenceLine(text) : quoteText(text);
  const much = level === "summary" || level === "detail" ? `(${level}) ` : "";
  return ` ${much}${said}\n`;
}

/**
 * What a record's block takes, remembered by what it is made of. Head and body meet between a colon and
 * a space, which no token reaches over, and are counted apart: the head is the same at every level.
 */
export function blockTokens(
  tokenizer: Tokenizer,
  shown: MarkedMemory,
  level: DetailLevel,
  page: RenderContext,
): number {
  const { memory, freshness, insteadOf, summary } = shown;
  const about = memory.task === undefined || memory.task === page.task ? "" : "elsewhere";
  const said = summary === undefined || level === "full" ? "" : sha256(summary);
  const head = [memory.digest, page.nameOf(memory.id), freshness, insteadOf, about].join(" ");
  const body = [level, memory.digest, said].join(" ");
  return (
    countBlock(tokenizer, head, () => headerOf(shown, page)) +
    countBlock(tokenizer, body, () => bodyOf(shown, level))
  );
}

/** Where a summary would leave out so little, there is none. */
const MIN_SHORTENING = 1.5;

/** The levels a record can be shown at, each with the level whose length it keeps to. */
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

export interface Block {
  readonly section: Section;
  /** The line that is before all blocks of its group. */
  readonly group?: string | undefined;
  readonly text: string;
}

export interface Rendering {
  readonly head: string;
  /** In the order they are shown; a group is where its first block is. */
  readonly blocks: readonly Block[];
  readonly omitted: number;
}

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
