/**
 * Handles of work (`dlv_…#3`): resume accepted work in another process. A handle can be passed through a
 * prompt or a command line. It contains the fence, so it stops working when the lease is lost.
 */

import { BatonError, isBatonError } from "../../base/errors.ts";
import { idPattern } from "../../base/ids.ts";
import { EnvelopeId } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { Delivery } from "../../history/delivery.ts";
import { acceptancesOf } from "../../history/delivery-records.ts";
import { leaseLost } from "../../history/lease-lost.ts";
import type { Memory, MemoryInput } from "../../memory/record.ts";
import { isOpen } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Worker } from "../receive/worker.ts";
import { type NoteResult, note, noteLostWork } from "./note.ts";

/** Returns the handle of a delivery: its id and fence. */
export const handleOf = ({ id, fence }: Pick<Delivery, "id" | "fence">): string => `${id}#${fence}`;

/** Returns the current work of a handle and renews its lease, which keeps its kind. Throws `lease_lost`. */
export async function resumeWork(
  workspace: Workspace,
  holder: Worker,
  handle: string,
): Promise<DeliveryWithEnvelopeRow> {
  const { id, fence } = parseHandle(handle);
  const { store, name, limits } = workspace;
  const found = await store.findDelivery(name, id);
  const isOwn = found?.delivery.holder === holder.agent && found.delivery.state === "accepted";
  if (found === undefined || !isOwn) throw leaseLost(id, found?.delivery);
  const lease = { delivery: id, fence, envelope: found.envelope.id, leaseMs: limits.leaseMs };
  const outcome = await store.renewLease(name, lease);
  if (outcome.kind === "lease_lost") throw leaseLost(id, outcome.delivery);
  return { delivery: outcome.delivery, envelope: found.envelope };
}

/**
 * Returns the work of a handle without renewing its lease, since the next operation is fenced anyway. With
 * `envelope`, returns the work with the envelope that its holder read last. Throws `lease_lost`.
 */
export async function findHeldWork(
  { store, name }: Workspace,
  holder: Worker,
  handle: string,
  { state, envelope }: { readonly state: "accepted" | "claimed"; readonly envelope?: string },
): Promise<DeliveryWithEnvelopeRow> {
  const { id, fence } = parseHandle(handle);
  const found = await store.findDelivery(name, id);
  const { delivery } = found ?? {};
  // Work that its holder has settled still belongs to it, so that a retried call is answered as such.
  const isOwn =
    delivery?.holder === holder.agent &&
    delivery.fence === fence &&
    (delivery.state === state || !isOpen(delivery.state));
  if (found === undefined || !isOwn) throw leaseLost(id, delivery);
  if (envelope === undefined || envelope === found.envelope.id) return found;
  const known = { code: "invalid_input", what: "The envelope", prefix: "envelope" } as const;
  const requested = await store.findEnvelope(name, parseOrThrow(EnvelopeId, envelope, known));
  if (requested?.envelope.task !== found.envelope.task) throw unknownEnvelope(envelope);
  return { delivery: found.delivery, envelope: requested.envelope };
}

/** Returns the agent that holds the work of a handle. Throws `lease_lost`. */
export async function holderOf({ store, name }: Workspace, handle: string): Promise<string> {
  const { id, fence } = parseHandle(handle);
  const found = await store.findDelivery(name, id);
  const { state, fence: now, holder } = found?.delivery ?? {};
  if (holder === undefined || state !== "accepted" || now !== fence) {
    throw leaseLost(id, found?.delivery);
  }
  return holder;
}

/** Writes a note by handle. If the lease was lost meanwhile, the note is kept and marked. */
export async function noteByHandle(
  workspace: Workspace,
  holder: Worker,
  handle: string,
  input: MemoryInput,
): Promise<NoteResult> {
  try {
    const held = await resumeWork(workspace, holder, handle);
    return await note(workspace, { ...holder, instance: held.delivery.instance }, held, input);
  } catch (error) {
    if (!(isBatonError(error) && (error.code === "lease_lost" || error.code === "cancelled"))) {
      throw error;
    }
    const { id, fence } = parseHandle(handle);
    const found = await workspace.store.findDelivery(workspace.name, id);
    if (found === undefined) throw error;
    const accepted = await findAcceptance(workspace, holder, found, fence);
    return noteLostWork(workspace, holder, { ...found, accepted }, input);
  }
}

/** Returns the acceptance that a handle came from: the holder's only one, or that of the same attempt. */
async function findAcceptance(
  workspace: Workspace,
  { agent }: Worker,
  found: DeliveryWithEnvelopeRow,
  fence: number,
): Promise<string | undefined> {
  const own = (await acceptancesOf(workspace, found)).filter((record) => record.agent === agent);
  const isOfAttempt = ({ trail = [] }: Memory): boolean =>
    trail.some((step) => step.verb === "accept" && step.attempt === fence);
  if (own.length === 1) return own[0]?.id;
  // Attempts and fences are equal until an offer is released: from then on the attempt cannot be determined.
  const { attempt, fence: now } = found.delivery;
  return attempt === now ? own.find(isOfAttempt)?.id : undefined;
}

const unknownEnvelope = (envelope: string): BatonError =>
  new BatonError("unknown_envelope", {
    message: `Envelope ${envelope} does not belong to this work.`,
    path: "envelope",
    hint: "Pass the newest envelope of the work that you have read, or omit it.",
  });

/** Returns the delivery id of a handle; throws `invalid_input`. */
export const deliveryIdOf = (handle: string): string => parseHandle(handle).id;

function parseHandle(handle: unknown): { readonly id: string; readonly fence: number } {
  const text = typeof handle === "string" ? handle : "";
  const [, id = "", fence = ""] = /^(.+)#([1-9]\d{0,14})$/.exec(text) ?? [];
  if (idPattern("delivery").test(id)) return { id, fence: Number(fence) };
  throw new BatonError("invalid_input", {
    message: "The value is not a work handle: expected a delivery id, # and a number (dlv_…#3).",
    path: "handle",
    hint: "Pass the whole handle (such as dlv_…#3), exactly as accepting the work returned it.",
  });
}
