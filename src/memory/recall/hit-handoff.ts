/** Where a hit leads: the handoff that a memory sends, and the deliveries that it is about. */
import type { TrailStep } from "../../store/rows.ts";
import type { Memory } from "../record.ts";

export interface HitHandoff {
  /** The envelope, of a memory that sends one; of a result it is the one its delivery names. */
  readonly envelope?: string | undefined;
  /** What it sends first, then what it accepts, settles or decides. */
  readonly deliveries: readonly string[];
}

/** Undefined for a memory that belongs to no handoff. */
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
