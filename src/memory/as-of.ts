/**
 * As of: a moment in the past, said as a time or as what happened then. What a receiver knew is asked by
 * the delivery it accepted: exact to the record, also within one millisecond.
 */
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { DeliveryId, EnvelopeId } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import type { DeliveryRow } from "../store/rows.ts";
import type { Moment } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";

export const AsOfSchema = z.union([
  z.int().min(0),
  z.iso.datetime({ offset: true, error: "must be a time such as 2026-03-01T12:00:00Z" }),
  z.strictObject({ delivery: DeliveryId }),
  z.strictObject({ envelope: EnvelopeId }),
]);

/** A time (milliseconds, or ISO 8601), or when a delivery or an envelope was accepted. */
export type AsOf = z.input<typeof AsOfSchema>;

export async function momentOf(workspace: Workspace, asOf: AsOf): Promise<Moment> {
  const checked = parseOrThrow(AsOfSchema, asOf, {
    code: "invalid_input",
    what: "The moment",
    prefix: "asOf",
  });
  if (typeof checked === "number") return { kind: "time", at: checked };
  if (typeof checked === "string") return { kind: "time", at: Date.parse(checked) };
  return "delivery" in checked
    ? acceptance(await requireDelivery(workspace, checked.delivery), checked.delivery)
    : acceptance(await firstAccepted(workspace, checked.envelope), checked.envelope);
}

async function requireDelivery({ store, name }: Workspace, id: string): Promise<DeliveryRow> {
  const found = await store.findDelivery(name, id);
  if (found !== undefined) return found.delivery;
  throw new BatonError("unknown_delivery", {
    message: `No delivery has the id ${id} in workspace "${name}".`,
    path: "asOf.delivery",
    hint: "Check the id and the workspace.",
  });
}

/** Of an envelope that went to many, the one that was accepted first. */
async function firstAccepted(
  { store, name }: Workspace,
  id: string,
): Promise<DeliveryRow | undefined> {
  const found = await store.findEnvelope(name, id);
  if (found === undefined) {
    throw new BatonError("unknown_envelope", {
      message: `No envelope has the id ${id} in workspace "${name}".`,
      path: "asOf.envelope",
      hint: "Check the id and the workspace.",
    });
  }
  return found.deliveries
    .filter((delivery) => delivery.acceptedBy !== "")
    .sort((a, b) => a.acceptedAt - b.acceptedAt)[0];
}

function acceptance(delivery: DeliveryRow | undefined, of: string): Moment {
  if (delivery !== undefined && delivery.acceptedBy !== "") {
    return { kind: "memory", id: delivery.acceptedBy };
  }
  throw new BatonError("invalid_input", {
    message: `Nobody has accepted ${of} yet.`,
    path: "asOf",
    hint: "Name a time, or a delivery that was accepted.",
  });
}
