/**
 * Parses `asOf`, a moment in the past: a time, or the acceptance of a delivery or envelope. A delivery
 * gives what its receiver could know, exact to the record even within one millisecond.
 */
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { DeliveryId, EnvelopeId } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import type { DeliveryRow } from "../store/rows.ts";
import type { Moment } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** Input schema of AsOf. */
export const AsOfSchema = z.union([
  z.int().min(0),
  z.iso.datetime({ offset: true, error: "must be a time such as 2026-03-01T12:00:00Z" }),
  z.strictObject({ delivery: DeliveryId }),
  z.strictObject({ envelope: EnvelopeId }),
]);

/** A time (ms since the epoch, or ISO 8601), or the moment a delivery or an envelope was accepted. */
export type AsOf = z.input<typeof AsOfSchema>;

/**
 * Resolves a moment. Throws `unknown_delivery` or `unknown_envelope` for an unknown id, and `invalid_input`
 * if the delivery or envelope was not accepted.
 */
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

/** Returns the delivery of the envelope that was accepted first; undefined if none was. */
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
    message: `${of} has not been accepted yet.`,
    path: "asOf",
    hint: "Pass a time, or a delivery that was accepted.",
  });
}
