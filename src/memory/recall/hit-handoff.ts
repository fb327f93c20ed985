/** Finds the handoff of a recalled memory: the envelope it sends and the deliveries it concerns. */
import type { TrailStep } from "../../store/rows.ts";
import type { Memory } from "../record.ts";

/** The handoff of a hit. */
export interface HitHandoff {
  /** The envelope, if the memory sends one; for a result, read it from the delivery. */
  readonly envelope?: string | undefined;
  /** The deliveries that it sends first, then those that it accepts, settles or decides. */
  readonly deliveries: readonly string[];
}

/** Returns the handoff of a memory; undefined if the memory belongs to none. */
export function handoffOf({
  envelope,
  trail,
}: Pick<Memory, "envelope" | "trail">): HitHandoff | undefined {
  if (trail === undefined) return undefined;
  const deliveries = [...new Set(trail.flatMap(deliveriesIn))];
  return { ...(envelope && { envelope: envelope.id }), deliveries };
}

const deliveriesIn = (step: TrailStep): readonly string[] =>
  step.verb === "publish" ? step.deliveries.map(([id]) => id) : [step.delivery];
