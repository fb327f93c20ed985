/** What was done again on a line although it was done, or said to be settled. */
import type { TimelineStep } from "../coordination/timeline/step.ts";
import type { LineFacts } from "./line-facts.ts";

export interface Repeats {
  /** Somebody did it, or said not to. */
  readonly told: boolean;
  /** Each doing too many: who said what. */
  readonly again: readonly string[];
}

/** Kinds of steps in which somebody says what it did. */
const WORK_STEP_KINDS: readonly TimelineStep["kind"][] = ["noted", "completed"];

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
  return { told: settled !== undefined || done.length > 0, again };
}

/** Where the record that handed it over stands; before all, when it is not told of. */
const placeOf = (timeline: readonly TimelineStep[], memory: string): number =>
  timeline.findIndex((step) => step.memory === memory);
