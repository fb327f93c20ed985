/** The pieces that a view can show, with their cost in tokens: parts of the envelope, and records. */

import type { DetailLevel, Envelope } from "../../envelope/schema.ts";
import type { EarlierAttempt } from "../../history/earlier-attempts.ts";
import type { FullProfile } from "../../profiles/role-profiles.ts";
import { SECTIONS } from "../../profiles/view-parts.ts";
import { shortIdFormatter } from "../../text/short-ids.ts";
import { countBlock, type Tokenizer } from "../../text/tokens.ts";
import { attemptBlock } from "./attempt-text.ts";
import type { Candidate } from "./candidates.ts";
import { earlierParts } from "./earlier-parts.ts";
import { type Part, partsOf } from "./envelope-parts.ts";
import type { GatheredContext } from "./gather.ts";
import { blockOf, blockTokens, dayOf, groupOf, levelsOf, type RenderContext } from "./render.ts";
import type { Form, Item } from "./select.ts";
import { valueOfMemory, valueOfPart, worthOfLength } from "./value.ts";
import type { OmittedMemory } from "./view.ts";

/** Something that a view can show. */
export interface Piece extends Item {
  /** The record; undefined for a part of the envelope. */
  readonly candidate: Candidate | undefined;
  readonly textAt: (level: DetailLevel) => string;
  /** Its name in the text; absent for records and parts of the envelope itself. */
  readonly label?: string | undefined;
  /** The reason if it is omitted. */
  readonly why: OmittedMemory["why"];
}

/** What pieces are made and priced with. */
export interface PieceOptions {
  readonly envelope: Envelope;
  /** Absent in a preview. */
  readonly delivery?: string | undefined;
  readonly profile: FullProfile;
  readonly tokenizer: Tokenizer;
}

/** Returns all pieces in the order they are shown. */
export function piecesOf(gathered: GatheredContext, pricing: PieceOptions): Piece[] {
  const page: RenderContext = {
    task: pricing.envelope.task,
    day: dayOf(pricing.envelope.metadata.createdAt),
    nameOf: shortIdFormatter([
      ...gathered.candidates.map(({ memory }) => memory.id),
      ...gathered.gaps.map(({ id }) => id),
      ...gathered.replaced,
      ...gathered.older.map(({ id }) => id),
    ]),
  };
  const { envelope } = pricing;
  const earlier = earlierParts(envelope, gathered.earlier);
  const priced = [
    ...partsOf(envelope, gathered),
    ...gathered.attempts.map((each, i) => attemptPart(each, `${pricing.delivery}#attempts[${i}]`)),
    ...earlier.slice(0, MAX_EARLIER),
  ];
  const statements = statementsOf(envelope);
  const pieces = [
    ...priced.map((part) => partPiece(part, pricing)),
    ...earlier.slice(MAX_EARLIER).map(({ id, text }) => listedPiece(id, text.length, "limit")),
    ...gathered.older.map(({ id, content }) => ({
      ...listedPiece(id, content.length, "limit"),
      section: "recent" as const,
    })),
    ...gathered.earlier.retried.map((id) => listedPiece(`${id}#attempts`, 0, "earlier")),
    ...gathered.earlier.envelopes.map((each) => listedPiece(each.id, jsonLength(each), "earlier")),
    ...gathered.candidates.map((candidate) =>
      memoryPiece(candidate, page, { ...pricing, isRepeated: isDuplicate(candidate, statements) }),
    ),
    ...gathered.replaced.map(replacedPiece),
  ];
  return SECTIONS.flatMap((section) => pieces.filter((piece) => piece.section === section));
}

/** Newest reports of earlier handoffs that compete; the others are listed in the manifest. */
const MAX_EARLIER = 100;

const attemptPart = (attempt: EarlierAttempt, id: string): Part => ({
  id,
  section: "task",
  label: `attempt ${attempt.attempt}`,
  text: attemptBlock(attempt),
  kind: "attempts",
  relevance: 1,
});

/** A piece that is only listed in the manifest, with an estimate of its tokens. */
const listedPiece = (id: string, length: number, why: OmittedMemory["why"]): Piece => ({
  id,
  section: "earlier",
  value: 0,
  must: false,
  forms: [{ level: "full", fits: "full", tokens: Math.ceil(length / CHARACTERS_PER_TOKEN) }],
  candidate: undefined,
  textAt: () => "",
  why,
});

const CHARACTERS_PER_TOKEN = 4;
const jsonLength = (envelope: Envelope): number => JSON.stringify(envelope).length;

function partPiece(part: Part, { profile, tokenizer }: PieceOptions): Piece {
  const { id, section, kind, label, shorter = [] } = part;
  const value = valueOfPart(part, profile);
  const least = shorter.at(-1)?.level;
  return {
    id,
    section,
    value,
    must: kind === "must",
    forms: formsOf(part, tokenizer),
    ...(least === undefined ? {} : { atLeast: least }),
    candidate: undefined,
    label,
    textAt: (level) => textOfPart(part, level),
    why: value === 0 ? "limit" : "budget",
  };
}

/** A part without shorter forms is offered by every strategy. */
function formsOf({ text, shorter = [] }: Part, tokenizer: Tokenizer): Form[] {
  const fits = shorter.length === 0 ? "reference" : "full";
  return [
    ...shorter.map((each) => ({
      level: each.level,
      fits: each.level,
      tokens: tokenizer.count(each.text),
    })),
    { level: "full", fits, tokens: tokenizer.count(text) },
  ];
}

/** Returns the text of a part at a level. */
export const textOfPart = ({ text, shorter = [] }: Part, level: DetailLevel): string =>
  shorter.find((each) => each.level === level)?.text ?? text;

/** A stale reference with a replacement that is shown for another: listed in the manifest, at no cost. */
const replacedPiece = (id: string): Piece => ({
  id,
  section: "references",
  value: 0,
  must: false,
  forms: [{ level: "reference", fits: "reference", tokens: 0 }],
  candidate: undefined,
  textAt: () => "",
  why: "said",
});

/** Returns the statements of the envelope, to find records that repeat them verbatim. */
const statementsOf = ({ constraints, decisions, done, doNotRedo }: Envelope): Set<string> =>
  new Set([
    ...constraints.map(({ rule }) => rule),
    ...decisions.map(({ question }) => question),
    ...done,
    ...doNotRedo,
  ]);

/** Returns whether the envelope or a record before this one has the same content. */
function isDuplicate({ memory, section }: Candidate, seen: Set<string>): boolean {
  const content = memory.content.trim();
  const known = seen.has(content);
  seen.add(content);
  return known && section !== "pins" && section !== "task";
}

function memoryPiece(
  candidate: Candidate,
  page: RenderContext,
  { profile, tokenizer, isRepeated }: PieceOptions & { readonly isRepeated: boolean },
): Piece {
  const { memory, section, level: atLeast, log } = candidate;
  const textAt = (level: DetailLevel): string => blockOf(candidate, level, page);
  const forms = levelsOf(candidate).map(({ level, fits }) => ({
    level,
    fits,
    tokens: blockTokens(tokenizer, candidate, level, page),
  }));
  const line = groupOf(memory, page);
  const takes = countBlock(tokenizer, line, () => line);
  const group = { key: `${section} ${line}`, text: line, tokens: takes };
  const weighed = valueOfMemory(candidate, profile);
  // A log that was not named is omitted; of one that was named, the gist is shown.
  const isKeptOut = log === true && candidate.freshness === undefined;
  const why = isRepeated ? "said" : isKeptOut ? "log" : weighed === 0 ? "limit" : "budget";
  return {
    id: memory.id,
    section,
    group,
    value: why === "budget" ? weighed * worthOfLength(forms.at(-1)?.tokens ?? 0) : 0,
    must: section === "pins",
    forms,
    atLeast,
    log,
    candidate,
    textAt,
    why,
  };
}
