/** Everything a view may show, as pieces with their price: what the envelope says, and records. */
import type { Envelope, Level } from "../envelope/schema.ts";
import type { Candidate } from "./candidates.ts";
import type { Gathered } from "./gather.ts";
import { type Part, partsOf } from "./parts.ts";
import type { FullProfile } from "./profiles.ts";
import { blockOf, blockTokens, levelsOf, type Page } from "./render.ts";
import type { Item } from "./select.ts";
import { namesAmong } from "./short-ids.ts";
import type { Tokenizer } from "./tokens.ts";
import { valueOfMemory, valueOfPart } from "./value.ts";
import { type OmittedMemory, SECTIONS } from "./view.ts";

export interface Piece extends Item {
  /** Undefined: it is a part of the envelope. */
  readonly candidate: Candidate | undefined;
  readonly textAt: (level: Level) => string;
  /** Why it is left out, when it is. */
  readonly why: OmittedMemory["why"];
}

export interface Pricing {
  readonly envelope: Envelope;
  readonly profile: FullProfile;
  readonly tokenizer: Tokenizer;
}

/** In the order they are shown. */
export function piecesOf(gathered: Gathered, pricing: Pricing): Piece[] {
  const page: Page = {
    task: pricing.envelope.task,
    nameOf: namesAmong([
      ...gathered.candidates.map(({ memory }) => memory.id),
      ...gathered.gaps.map(({ id }) => id),
      ...gathered.replaced,
    ]),
  };
  const pieces = [
    ...partsOf(pricing.envelope, gathered).map((part) => partPiece(part, pricing)),
    ...gathered.candidates.map((candidate) => memoryPiece(candidate, page, pricing)),
    ...gathered.replaced.map(replacedPiece),
  ];
  return SECTIONS.flatMap((section) => pieces.filter((piece) => piece.section === section));
}

function partPiece(part: Part, { profile, tokenizer }: Pricing): Piece {
  const { id, section, text, kind } = part;
  const value = valueOfPart(part, profile);
  return {
    id,
    section,
    value,
    must: kind === "must",
    forms: [{ level: "full", fits: "reference", tokens: tokenizer.count(text) }],
    candidate: undefined,
    textAt: () => text,
    why: value === 0 ? "limit" : "budget",
  };
}

/** What holds in its place is shown for another: it is named in the manifest, and takes nothing. */
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

/** What the envelope says word for word needs no second telling. */
function isSaid({ memory, section }: Candidate, { constraints, decisions }: Envelope): boolean {
  if (section === "pins" || section === "task") return false;
  const content = memory.content.trim();
  return (
    constraints.some(({ rule }) => rule === content) ||
    decisions.some(({ question }) => question === content)
  );
}

function memoryPiece(
  candidate: Candidate,
  page: Page,
  { envelope, profile, tokenizer }: Pricing,
): Piece {
  const { memory, section, level: atLeast, log } = candidate;
  const textAt = (level: Level): string => blockOf(candidate, level, page);
  const forms = levelsOf(candidate).map(({ level, fits }) => ({
    level,
    fits,
    tokens: blockTokens(tokenizer, candidate, level, page),
  }));
  const weighed = valueOfMemory(candidate, profile);
  // A log that nobody named stays out; of one that somebody did, the gist goes.
  const isKeptOut = log === true && candidate.freshness === undefined;
  const why = isSaid(candidate, envelope)
    ? "said"
    : isKeptOut
      ? "log"
      : weighed === 0
        ? "limit"
        : "budget";
  return {
    id: memory.id,
    section,
    value: why === "budget" ? weighed : 0,
    must: section === "pins",
    forms,
    atLeast,
    log,
    candidate,
    textAt,
    why,
  };
}
