/**
 * Reserves files for work that is held, and reports conflicts. The reservation is written before conflicts
 * are read, so that of two concurrent reservations at least one sees the other.
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

/** Options of `work.reservations.set()`. */
export const ReserveSchema = z.strictObject({
  /** "shared" does not conflict with other shared reservations. Default: "exclusive". */
  mode: z.enum(MODES).default("exclusive"),
  /** What other agents should know about it. */
  note: z.string().min(1).max(FORMAT_LIMITS.lineLength).optional(),
});
export type ReserveOptions = z.input<typeof ReserveSchema>;

/** The result of `work.reservations.set()`. */
export interface ReserveResult {
  /** The reservation that was made. */
  readonly reserved: Reservation;
  /** Overlapping reservations of other agents. They do not prevent the reservation. */
  readonly conflicts: readonly ReservationConflict[];
}

/**
 * Reserves files for held work and replaces its earlier reservation. Default globs: what the handoff states
 * its work will touch. Throws `invalid_input` if there are none, and `lease_lost`.
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
  const fields = {
    globs: parsed.map(({ text }) => text),
    mode,
    ...(note === undefined ? {} : { note }),
  };
  const value: StoredReservation = { agent, fence, instance, task, ...fields };
  const entry = await changeEntry<StoredReservation>(workspace, nameOf(delivery), (now) => {
    if (now !== undefined && now.fence > fence) throw leaseLost(delivery.id, undefined);
    return { value };
  });
  if (entry === undefined) throw new Error("a reservation was written and not found");
  // The entry has the store's time, which leases use too.
  const conflicts = await conflictsWith(
    workspace,
    { agent, instance, globs: parsed, mode },
    entry.at,
  );
  return { reserved: reservationOf(candidateOf(entry), delivery), conflicts };
}

/** Deletes the reservation of this holder. */
export async function unreserve(workspace: Workspace, delivery: DeliveryRow): Promise<void> {
  await changeEntry<StoredReservation>(workspace, nameOf(delivery), (now) =>
    now?.fence === delivery.fence ? { value: undefined } : undefined,
  );
}

/** Returns conflicts with what a handoff states its work will touch, before it is accepted. */
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
    message: "globs: required, because the handoff does not state what its work will touch.",
    path: "globs",
    hint: 'Pass files or resources: work.reservations.set(["src/auth/**", "db:users"]).',
  });
}
