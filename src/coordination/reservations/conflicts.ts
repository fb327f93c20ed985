/**
 * Conflicts: who else works on what somebody works on, or is about to. Told, never enforced. Not with
 * oneself: what one session of an agent does at once is its own business.
 */

import { isBatonError } from "../../base/errors.ts";
import { GenerationalCache } from "../../base/generational-cache.ts";
import { type Glob, globsOverlap, parseGlobs } from "../../base/globs.ts";
import { entriesOf } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import {
  type Candidate,
  candidateOf,
  filterActive,
  RESERVATION,
  type Reservation,
  type ReservationMode,
} from "./reservation.ts";

export interface ReservationConflict extends Omit<Reservation, "instance"> {
  /** Of theirs, those that can mean the same. */
  readonly globs: readonly string[];
  /** What was asked about that they can mean. */
  readonly with: readonly string[];
}

/** Who asks, and what it works on or would. */
export interface ReservationRequest {
  readonly agent: string;
  readonly instance: string;
  readonly globs: readonly Glob[];
  readonly mode: ReservationMode;
}

/** The reservations that stand in the way at this time, in the order their work was sent. */
export async function conflictsWith(
  workspace: Workspace,
  asking: ReservationRequest,
  now: number,
): Promise<readonly ReservationConflict[]> {
  const met = new Map<string, GlobOverlap>();
  const looked: Candidate[] = [];
  for await (const entry of entriesOf(workspace, RESERVATION)) {
    const candidate = candidateOf(entry);
    const meeting = overlapOf(asking, candidate);
    if (meeting !== undefined) met.set(entry.name, meeting);
    // One that nobody can hold any more is looked at as well: so the dead do not pile up.
    if (meeting !== undefined || entry.at + workspace.limits.holdMs <= now) looked.push(candidate);
  }
  const good = await filterActive(workspace, looked, now);
  return good.flatMap(({ instance: _, ...reservation }) => {
    const meeting = met.get(reservation.delivery);
    return meeting === undefined ? [] : [{ ...reservation, ...meeting }];
  });
}

type GlobOverlap = Pick<ReservationConflict, "globs" | "with">;

function overlapOf(asking: ReservationRequest, { kept }: Candidate): GlobOverlap | undefined {
  if (kept.agent === asking.agent && kept.instance === asking.instance) return undefined;
  if (kept.mode === "shared" && asking.mode === "shared") return undefined;
  return findOverlap(asking.globs, kept.globs);
}

/** Which of theirs can mean the same as which that were asked about; undefined: none. */
export function findOverlap(
  asked: readonly Glob[],
  globs: readonly string[],
): GlobOverlap | undefined {
  const theirs = globs
    .flatMap(parseStoredGlob)
    .filter((one) => asked.some((each) => globsOverlap(each, one)));
  if (theirs.length === 0) return undefined;
  const met = asked.filter((each) => theirs.some((one) => globsOverlap(each, one)));
  return { globs: theirs.map(({ text }) => text), with: met.map(({ text }) => text) };
}

/**
 * The same reservations are looked at for each that is made; reading a glob takes twenty microseconds,
 * holding it against another less than one. Longer ones may take much room, and are read each time.
 */
const parsedGlobs = new GenerationalCache<string, readonly Glob[]>(5_000);
const LONG = 200;

/** It was a glob when it was stored; where a redaction has taken something out of it, maybe no more. */
function parseStoredGlob(glob: string): readonly Glob[] {
  const before = parsedGlobs.get(glob);
  if (before !== undefined) return before;
  try {
    const globs = parseGlobs([glob], { path: "globs" });
    if (glob.length <= LONG) parsedGlobs.set(glob, globs);
    return globs;
  } catch (error) {
    if (isBatonError(error)) return [];
    throw error;
  }
}
