/** What a view is made of: its sections, and the parts of a handoff that profiles weigh. */

/** The parts of a view, in the order they are shown. What must travel comes first. */
export const SECTIONS = [
  "task",
  "constraints",
  "decisions",
  "pins",
  "earlier",
  "references",
  "neighbours",
  "recent",
  "recalled",
] as const;
export type Section = (typeof SECTIONS)[number];

/** Parts that take their turn with everything else; a role's profile weighs them. */
export const PARTS = [
  "artifacts",
  "attempts",
  "blocked",
  "constraints",
  "details",
  "doNotRedo",
  "done",
  "expects",
  "failure",
  "flags",
  "gaps",
  "history",
  "next",
  "payload",
  "reconstructed",
  "released",
  "results",
  "state",
] as const;

export type PartKind = (typeof PARTS)[number];
