/** The sections of a view, and the parts of a handoff that profiles weigh. */

/** The sections of a view in display order. The mandatory ones come first. */
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
/** The name of a section. */
export type Section = (typeof SECTIONS)[number];

/** Parts of a handoff that compete with everything else for the budget; a role profile sets their weights. */
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

/** The name of a part. */
export type PartKind = (typeof PARTS)[number];
