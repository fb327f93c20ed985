/**
 * The type of a candidate: a record found for a section of a view, with its relevance. Merges candidates for
 * the same record into one. They are collected in gather.ts; select.ts decides which are shown.
 */
import { DETAIL_LEVELS, type DetailLevel, type Envelope } from "../../envelope/schema.ts";
import type { Memory } from "../../memory/record.ts";
import type { Section } from "../../profiles/view-parts.ts";
import type { Freshness } from "./view.ts";

/** A record considered for a view. */
export interface Candidate {
  readonly memory: Memory;
  readonly section: Section;
  /** Relevance among those found the same way, from 0 to 1. */
  readonly relevance: number;
  /** The sender's summary. */
  readonly summary?: string | undefined;
  /** The least level of detail that the sender wants the receiver to see. */
  readonly level?: DetailLevel | undefined;
  readonly insteadOf?: string | undefined;
  readonly freshness?: Freshness | undefined;
  /** A raw conversation, or reasoning that a decision has settled: its gist is enough. */
  readonly log?: true;
}

/** Returns the sender's summaries by id; each describes the record that was named, not what superseded it. */
export const summariesIn = ({
  refs,
}: Pick<Envelope, "refs">): ReadonlyMap<string, string | undefined> =>
  new Map(refs.map(({ id, summary }) => [id, summary]));

/** Keeps each record once, in the first place it was found; being found several times adds relevance. */
export function distinctCandidates(found: readonly Candidate[]): Candidate[] {
  const byId = new Map<string, Candidate>();
  for (const each of found) {
    const known = byId.get(each.memory.id);
    byId.set(each.memory.id, known === undefined ? each : mergeCandidates(known, each));
  }
  return [...byId.values()];
}

/** Merges two finds. A pinned or named record can also be the one that replaces a stale reference. */
function mergeCandidates(known: Candidate, again: Candidate): Candidate {
  const { freshness = again.freshness, insteadOf } =
    known.insteadOf === undefined && again.insteadOf !== undefined ? again : known;
  return {
    ...known,
    relevance: known.relevance + again.relevance / 4,
    level: DETAIL_LEVELS.findLast((level) => level === known.level || level === again.level),
    freshness,
    insteadOf,
  };
}
