/**
 * A reservation: what a holder says it works on, kept under the name of its delivery. It is good exactly
 * while that delivery is held under that fence, so it ends with its lease by itself: settled, run out,
 * cancelled or taken over. What is left of one that has ended is never trusted, and taken away by
 * whoever comes across it.
 */

import { type DeliveryRow, type EntryRow, isHeld } from "../../store/rows.ts";
import { entryValue } from "../../workspace/entries.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** The kind of the entry, which is named by the delivery's id. */
export const RESERVATION = "reservation";

/** Two that share do not stand in each other's way. */
export const MODES = ["exclusive", "shared"] as const;
export type ReservationMode = (typeof MODES)[number];

/** What the entry says. */
export interface StoredReservation {
  readonly agent: string;
  readonly fence: number;
  readonly globs: readonly string[];
  readonly instance: string;
  readonly mode: ReservationMode;
  readonly note?: string | undefined;
  readonly task: string;
}

export interface Reservation extends Omit<StoredReservation, "fence"> {
  readonly delivery: string;
  /** When it was said, and until when it holds unless the lease is renewed: in the store's time. */
  readonly since: number;
  readonly until: number;
}

/** An entry that may be a reservation still. */
export interface Candidate {
  readonly entry: EntryRow;
  readonly kept: StoredReservation;
}

export const candidateOf = (entry: EntryRow): Candidate => ({
  entry,
  kept: entryValue<StoredReservation>(entry) as StoredReservation,
});

export function reservationOf(
  { entry, kept }: Candidate,
  { leaseUntil }: DeliveryRow,
): Reservation {
  const { fence: _, ...said } = kept;
  return { ...said, delivery: entry.name, since: entry.at, until: leaseUntil };
}

/** Those of them that are good at this time, in the same order; what has ended is taken away. */
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

/** If it is still as it was seen: a later holder's is another. Looking never fails because of it. */
function deleteEndedReservation({ store, name }: Workspace, entry: EntryRow): Promise<void> {
  const { kind, name: delivery, revision } = entry;
  return runFollowUp(`${kind} ${delivery}`, async () => {
    await store.putEntry(name, { kind, name: delivery, value: undefined, basedOn: revision });
  });
}
