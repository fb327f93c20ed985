/**
 * Reservations: the files a holder states it works on, stored in an entry named after its delivery. A
 * reservation is active exactly while that delivery is held under that fence, so it ends with the lease:
 * settled, expired, cancelled or taken over. Entries of ended reservations are ignored, and deleted by the
 * next reader.
 */

import { type DeliveryRow, type EntryRow, isHeld } from "../../store/rows.ts";
import { entryValue } from "../../workspace/entries.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** The entry kind; the entry name is the id of the delivery. */
export const RESERVATION = "reservation";

/** Two "shared" reservations do not conflict. */
export const MODES = ["exclusive", "shared"] as const;
export type ReservationMode = (typeof MODES)[number];

/** The stored value of the entry. */
export interface StoredReservation {
  /** The agent that holds the work. */
  readonly agent: string;
  /** The fence of the lease under which it was made. */
  readonly fence: number;
  readonly globs: readonly string[];
  /** The session of the agent. */
  readonly instance: string;
  readonly mode: ReservationMode;
  /** What the holder noted about it; absent if nothing. */
  readonly note?: string | undefined;
  readonly task: string;
}

/** An active reservation. */
export interface Reservation extends Omit<StoredReservation, "fence"> {
  /** The id of the delivery that holds it. */
  readonly delivery: string;
  /** When it was made, and until when it lasts unless the lease is renewed, in the store's time. */
  readonly since: number;
  readonly until: number;
}

/** An entry that may still be an active reservation. */
export interface Candidate {
  readonly entry: EntryRow;
  readonly kept: StoredReservation;
}

/** Returns the candidate of a stored entry. */
export const candidateOf = (entry: EntryRow): Candidate => ({
  entry,
  kept: entryValue<StoredReservation>(entry) as StoredReservation,
});

/** Returns the reservation of a candidate and the delivery that holds it. */
export function reservationOf(
  { entry, kept }: Candidate,
  { leaseUntil }: DeliveryRow,
): Reservation {
  const { fence: _, ...fields } = kept;
  return { ...fields, delivery: entry.name, since: entry.at, until: leaseUntil };
}

/** Returns those that are active at this time, in the same order, and deletes ended ones. */
export async function filterActive(
  workspace: Workspace,
  candidates: readonly Candidate[],
  now: number,
): Promise<readonly Reservation[]> {
  const { store, name } = workspace;
  const found = await Promise.all(
    candidates.map(async (candidate) => {
      const delivery = (await store.findDelivery(name, candidate.entry.name))?.delivery;
      if (isActive(workspace, candidate.kept, delivery, now))
        return reservationOf(candidate, delivery);
      await deleteEndedReservation(workspace, candidate.entry);
      return undefined;
    }),
  );
  return found.filter((each) => each !== undefined);
}

function isActive(
  { processes }: Workspace,
  { fence }: StoredReservation,
  held: DeliveryRow | undefined,
  now: number,
): held is DeliveryRow {
  if (held === undefined || !isHeld(held.state) || held.fence !== fence) return false;
  return held.leaseUntil > now && !(held.process !== "" && processes.isGone(held.process));
}

/**
 * Deletes an entry if it is unchanged: a later holder may have written another. A failure does not fail the
 * read.
 */
function deleteEndedReservation({ store, name }: Workspace, entry: EntryRow): Promise<void> {
  const { kind, name: delivery, revision } = entry;
  return runFollowUp(`${kind} ${delivery}`, async () => {
    await store.putEntry(name, { kind, name: delivery, value: undefined, basedOn: revision });
  });
}
