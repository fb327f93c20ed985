/** What is considered for a view: a record, where it was found, and what is known of it there. */
import { DETAIL_LEVELS, type DetailLevel, type Envelope } from "../../envelope/schema.ts";
import type { Memory } from "../../memory/record.ts";
import type { Section } from "../../profiles/view-parts.ts";
import type { Freshness } from "./view.ts";

export interface Candidate {
  readonly memory: Memory;
  readonly section: Section;
  /** Among those found the same way, from 0 to 1. */
  readonly relevance: number;
  /** The sender's own. */
  readonly summary?: string | undefined;
  /** What the sender wants the receiver to see of it at least. */
  readonly level?: DetailLevel | undefined;
  readonly insteadOf?: string | undefined;
  readonly freshness?: Freshness | undefined;
  /** A conversation as it went, or reasoning that a decision has settled: its gist is enough. */
  readonly log?: true;
}

/** The sender's summary is of what it named, not of what holds in its place. */
export const summariesIn = ({
  refs,
}: Pick<Envelope, "refs">): ReadonlyMap<string, string | undefined> =>
  new Map(refs.map(({ id, summary }) => [id, summary]));

/** Each record once, in the first place it was found; found in several ways it matters more. */
export function distinctCandidates(found: readonly Candidate[]): Candidate[] {
  const byId = new Map<string, Candidate>();
  for (const each of found) {
    const known = byId.get(each.memory.id);
    byId.set(each.memory.id, known === undefined ? each : mergeCandidates(known, each));
  }
  return [...byId.values()];
}

/** What was pinned, or named itself, is still what holds in the place of one that is stale. */
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
