/** Finds work on a line that was repeated although it was done, or listed in `doNotRedo`. */
import type { TimelineStep } from "../coordination/timeline/step.ts";
import type { LineFacts } from "./line-facts.ts";

/** What was repeated on a line. */
export interface Repeats {
  /** True if an agent did it, or a handoff stated not to redo it. */
  readonly isMentioned: boolean;
  /** Each repetition, as "agent: text". */
  readonly again: readonly string[];
}

/** Kinds of steps in which an agent states what it did. */
const WORK_STEP_KINDS: readonly TimelineStep["kind"][] = ["noted", "completed"];

/** Returns the repetitions of a text or pattern. */
export function repeatsOf({ timeline, steps }: LineFacts, what: string | RegExp): Repeats {
  const speaksOf = (text: string): boolean =>
    typeof what === "string" ? text.includes(what) : text.search(what) !== -1;
  const settled = steps.find(({ envelope }) => envelope.doNotRedo.some(speaksOf));
  const done = timeline.filter(
    ({ kind, text }) => WORK_STEP_KINDS.includes(kind) && speaksOf(text),
  );
  const from = settled === undefined ? -1 : placeOf(timeline, settled.memory);
  const before = done.filter((step) => settled === undefined || timeline.indexOf(step) < from);
  const after = done.filter((step) => !before.includes(step));
  const again = [...before.slice(1), ...after].map(({ agent, text }) => `${agent}: ${text}`);
  return { isMentioned: settled !== undefined || done.length > 0, again };
}

/** Returns the position of a handoff record in the timeline; -1 if it is not part of it. */
const placeOf = (timeline: readonly TimelineStep[], memory: string): number =>
  timeline.findIndex((step) => step.memory === memory);
