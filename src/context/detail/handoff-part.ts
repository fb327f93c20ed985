/**
 * Reads parts of a handoff by the ids that a view's manifest uses: `env_…#payload`, `env_…#done[3]`,
 * `env_…#history[0-11]`, `dlv_…#attempts[0]`; `env_…` alone is the whole envelope.
 */

import { BatonError } from "../../base/errors.ts";
import { idPattern } from "../../base/ids.ts";
import { nearestNames } from "../../base/nearest-names.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { earlierAttempts } from "../../history/earlier-attempts.ts";
import { parseDeliveryId, unknownDelivery } from "../../history/unknown-delivery.ts";
import { tryParseEnvelope } from "../../store/parse-envelope.ts";
import type { Workspace } from "../../workspace/workspace.ts";

const PART = /^(env_[^#]+)(?:#(\w+)(?:\[(\d+)(?:-(\d+))?\])?)?$/;

const ATTEMPT = /^(dlv_[^#]+)#attempts(?:\[(\d+)(?:-(\d+))?\])?$/;

/** Returns whether an id names an envelope, a part of one, or attempts of a delivery. */
export const isHandoffPart = (id: unknown): id is string =>
  typeof id === "string" && (id.startsWith("env_") || ATTEMPT.test(id));

/** A part of a handoff. */
export interface HandoffPart {
  /** Id of the handoff's record. */
  readonly memory: string;
  readonly value: unknown;
}

/** Returns a part by its id. Throws `invalid_input`, `unknown_envelope` or `unknown_delivery`. */
export function readHandoffPart(workspace: Workspace, id: string): Promise<HandoffPart> {
  return id.startsWith("env_") ? readEnvelopePart(workspace, id) : readAttemptPart(workspace, id);
}

async function readAttemptPart(workspace: Workspace, id: string): Promise<HandoffPart> {
  const [, delivery = "", from, to = from] = ATTEMPT.exec(id) ?? [];
  const claimed = await workspace.store.findDelivery(workspace.name, parseDeliveryId(delivery));
  if (claimed === undefined) throw unknownDelivery(delivery);
  const attempts = await earlierAttempts(workspace, claimed);
  const value = itemsAt(attempts, { from, to });
  if (value === undefined) throw unknownAttempt(id, attempts.length);
  return { memory: claimed.envelope.memory, value };
}

async function readEnvelopePart(workspace: Workspace, id: string): Promise<HandoffPart> {
  const [, envelope = "", field, from, to = from] = PART.exec(id) ?? [];
  if (!idPattern("envelope").test(envelope)) throw invalidPart(id);
  const found = await workspace.store.findEnvelope(workspace.name, envelope);
  if (found === undefined) throw unknownEnvelope(envelope);
  const sealed = tryParseEnvelope(workspace, found.envelope);
  if (sealed === undefined) throw unreadable(envelope);
  const value = field === undefined ? sealed : valueIn(sealed, field, { from, to });
  if (value === undefined) throw unknownPart(id, sealed);
  return { memory: found.envelope.memory, value };
}

interface Range {
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** Returns a field or items of it; undefined if the envelope has no such part. */
function valueIn(envelope: Envelope, field: string, { from, to }: Range): unknown {
  const value = field === "details" ? detailsOf(envelope) : fieldOf(envelope, field);
  if (from === undefined) return value;
  const items = field === "failure" ? failureItems(envelope) : value;
  return Array.isArray(items) ? itemsAt(items, { from, to }) : undefined;
}

/** Returns a whole list, one item or a range of items; undefined if the range is empty. */
function itemsAt(items: readonly unknown[], { from, to }: Range): unknown {
  if (from === undefined) return items;
  const part = items.slice(Number(from), Number(to) + 1);
  if (part.length === 0) return undefined;
  return from === to ? part[0] : part;
}

const fieldOf = (envelope: Envelope, field: string): unknown =>
  Object.hasOwn(envelope, field) ? envelope[field as keyof Envelope] : undefined;

/** Returns the fields that a view shows as one line of details. */
function detailsOf(envelope: Envelope): unknown {
  const { run, branch, touches, after, priority, policy, metadata } = envelope;
  return { run, branch, touches, after, priority, policy, metadata };
}

/**
 * Returns the parts of a failure in the order a view lists them: the failure, its hints, what was attempted.
 */
function failureItems({ failure }: Envelope): unknown[] {
  if (failure === undefined) return [];
  const { hints, attempted, ...rest } = failure;
  return [rest, ...hints, ...(attempted === undefined ? [] : [attempted])];
}

const unknownAttempt = (id: string, attempts: number): BatonError =>
  new BatonError("invalid_input", {
    message: `${id} does not exist: the delivery has ${attempts} earlier attempts.`,
    path: "id",
    hint: "Count from 0, or omit the number to read all attempts.",
  });

function invalidPart(id: string): BatonError {
  return new BatonError("invalid_input", {
    message: `"${id}" is not the id of an envelope or of a part of an envelope.`,
    path: "id",
    hint: "Use the form env_…, env_…#payload, env_…#done[3] or env_…#done[0-11].",
  });
}

const unknownEnvelope = (envelope: string): BatonError =>
  new BatonError("unknown_envelope", {
    message: `Envelope ${envelope} does not exist.`,
    path: "id",
    hint: "Use an id from a view's manifest, or read the delivery (dlv_…).",
  });

const unreadable = (envelope: string): BatonError =>
  new BatonError("unknown_envelope", {
    message: `Envelope ${envelope} cannot be read by this version of Baton.`,
    path: "id",
    hint: "Upgrade Baton, then read it again.",
  });

function unknownPart(id: string, envelope: Envelope): BatonError {
  const parts = Object.keys(envelope);
  const wanted = id.slice(id.indexOf("#") + 1).replace(/\[.*/, "");
  const nearest = nearestNames(wanted, parts);
  return new BatonError("invalid_input", {
    message: `${id} does not exist in the envelope.`,
    path: "id",
    hint:
      nearest.length > 0
        ? `Did you mean ${nearest.map((part) => `${envelope.id}#${part}`).join(" or ")}?`
        : `The envelope has the parts ${parts.join(", ")}.`,
    details: { envelope: envelope.id, parts },
  });
}
