/**
 * Reserving: a holder says what it works on, and is told who works there as well. First it is written,
 * then looked: of two who do so at the same moment, at least one learns of the other.
 */

import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { parseGlobs } from "../../base/globs.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { leaseLost } from "../../history/lease-lost.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import { touchesOf } from "../../store/parse-envelope.ts";
import type { DeliveryRow } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import { changeEntry } from "../../workspace/entries.ts";
import { storeTime } from "../../workspace/store-time.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { conflictsWith, type ReservationConflict } from "./conflicts.ts";
import { checkedGlobs } from "./list.ts";
import {
  candidateOf,
  MODES,
  RESERVATION,
  type Reservation,
  reservationOf,
  type StoredReservation,
} from "./reservation.ts";

export const ReserveSchema = z.strictObject({
  /** "shared": does not mind others that share. */
  mode: z.enum(MODES).default("exclusive"),
  note: z.string().min(1).max(FORMAT_LIMITS.lineLength).optional(),
});
export type ReserveOptions = z.input<typeof ReserveSchema>;

export interface ReserveResult {
  readonly reserved: Reservation;
  /** Who else works on any of it. Nothing is refused because of them. */
  readonly conflicts: readonly ReservationConflict[];
}

/**
 * Reserves for the work that is held; what it had reserved before is replaced. Without globs: what the
 * handoff says the work will touch.
 */
export async function reserve(
  workspace: Workspace,
  { delivery, envelope }: DeliveryWithEnvelopeRow,
  globs: string | readonly string[] | undefined,
  options: ReserveOptions = {},
): Promise<ReserveResult> {
  const how = { code: "invalid_input", what: "The options" } as const;
  const asked = await redactSecrets(workspace, {
    globs,
    ...parseOrThrow(ReserveSchema, options, how),
  });
  const { mode, note } = asked;
  const named = asked.globs ?? touchesOf(envelope);
  if (named.length === 0) throw nothingNamed();
  const parsed = checkedGlobs(named, "globs");
  const { fence, holder: agent, instance, task } = delivery;
  const said = {
    globs: parsed.map(({ text }) => text),
    mode,
    ...(note === undefined ? {} : { note }),
  };
  const value: StoredReservation = { agent, fence, instance, task, ...said };
  const entry = await changeEntry<StoredReservation>(workspace, nameOf(delivery), (now) => {
    if (now !== undefined && now.fence > fence) throw leaseLost(delivery.id, undefined);
    return { value };
  });
  if (entry === undefined) throw new Error("a reservation was put, and is not there");
  // The entry has the store's time, which leases go by.
  const conflicts = await conflictsWith(
    workspace,
    { agent, instance, globs: parsed, mode },
    entry.at,
  );
  return { reserved: reservationOf(candidateOf(entry), delivery), conflicts };
}

/** Takes back what this holder has reserved. */
export async function unreserve(workspace: Workspace, delivery: DeliveryRow): Promise<void> {
  await changeEntry<StoredReservation>(workspace, nameOf(delivery), (now) =>
    now?.fence === delivery.fence ? { value: undefined } : undefined,
  );
}

/** Who works on what a handoff will touch: before it is accepted. */
export async function findOfferConflicts(
  workspace: Workspace,
  { envelope }: DeliveryWithEnvelopeRow,
  { agent, instance }: { readonly agent: string; readonly instance: string },
): Promise<readonly ReservationConflict[]> {
  const touches = touchesOf(envelope);
  if (touches.length === 0) return [];
  const globs = parseGlobs(touches, { path: "touches" });
  const now = await storeTime(workspace);
  return conflictsWith(workspace, { agent, instance, globs, mode: "exclusive" }, now);
}

const nameOf = ({ id }: DeliveryRow) => ({ kind: RESERVATION, name: id });

function nothingNamed(): BatonError {
  return new BatonError("invalid_input", {
    message: "globs: nothing is named, and the handoff does not say what its work will touch.",
    path: "globs",
    hint: 'Name files or resources: work.reservations.set(["src/auth/**", "db:users"]).',
  });
}
