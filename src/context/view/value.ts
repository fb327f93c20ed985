/** The value of a piece of a view for a role. It does not depend on the current time. */

import type { FullProfile } from "../../profiles/role-profiles.ts";
import type { PartKind } from "../../profiles/view-parts.ts";
import type { Candidate } from "./candidates.ts";
import type { Part } from "./envelope-parts.ts";

/** Returns the value of a part; infinite if it must be included. */
export function valueOfPart(
  { kind, relevance, section }: Part,
  { parts, sections }: FullProfile,
): number {
  if (kind === "must") return Number.POSITIVE_INFINITY;
  const where = section === "earlier" ? weightOf(sections, section) : 1;
  const first = FIRST_STEP_KINDS.has(kind) ? FIRST_STEP_FACTOR : 1;
  return (parts[kind] ?? 1) * first * where * (0.5 + relevance / 2);
}

/** What a receiver has to know before its first step: it precedes mere references for every role. */
const FIRST_STEP_KINDS: ReadonlySet<PartKind> = new Set<PartKind>([
  ...(["attempts", "blocked", "doNotRedo", "done", "expects", "failure"] as const),
  ...(["flags", "gaps", "next", "state"] as const),
]);
const FIRST_STEP_FACTOR = 3;

/** Returns the value of a record; 0 if the role's profile excludes it. */
export function valueOfMemory(
  { memory, section, relevance }: Candidate,
  profile: FullProfile,
): number {
  const { importance = 0.5, confidence = 1, type, tags = [] } = memory;
  const tagged = tags.reduce((weight, tag) => weight * weightOf(profile.tags, tag), 1);
  return (
    weightOf(profile.sections, section) *
    weightOf(profile.types, type) *
    tagged *
    relevance *
    (0.5 + importance) *
    (0.5 + confidence / 2)
  );
}

const weightOf = (weights: Readonly<Record<string, number>>, name: string): number =>
  Object.hasOwn(weights, name) ? (weights[name] ?? 1) : 1;

/** The length in tokens at which a record counts exactly its value. */
const NEUTRAL_TOKENS = 25;

/**
 * Returns the factor for the length of a record. A longer record contains more, though not twice as much at
 * twice the length. Without it, selection by value per token would prefer a remark to a fact with its reason.
 */
export const worthOfLength = (tokens: number): number => Math.sqrt(tokens / NEUTRAL_TOKENS);
