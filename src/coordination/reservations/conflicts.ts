/**
 * Finds reservations of other agents that overlap with files an agent works on or is about to. Conflicts are
 * reported, never enforced. Reservations of the same session do not conflict with each other.
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

/** A reservation of another session that overlaps. */
export interface ReservationConflict extends Omit<Reservation, "instance"> {
  /** Globs of that reservation that overlap. */
  readonly globs: readonly string[];
  /** Globs of the request that they overlap with. */
  readonly with: readonly string[];
}

/** A request: the session that asks, and what it works on or would. */
export interface ReservationRequest {
  readonly agent: string;
  readonly instance: string;
  readonly globs: readonly Glob[];
  readonly mode: ReservationMode;
}

/** Returns the conflicting reservations at this time, in the order their work was sent. */
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
    // Also checks reservations past the longest hold time, so that ended ones do not accumulate.
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

/** Returns which globs of both sides overlap; undefined if none do. */
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
 * Cache of parsed globs, because each request checks the same reservations: parsing a glob takes 20 µs,
 * comparing two less than 1 µs. Long globs could use much memory and are parsed each time.
 */
const parsedGlobs = new GenerationalCache<string, readonly Glob[]>(5_000);
const LONG = 200;

/** Parses a stored glob. A redaction may have made it invalid; then it matches nothing. */
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
