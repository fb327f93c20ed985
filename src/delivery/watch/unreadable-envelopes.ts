/**
 * Skips envelopes of a newer version that this one cannot read: they stay in line for a receiver that can,
 * and do not block those after them. Each is published on a diagnostics channel as `{ delivery, error }`; a
 * caller gets an error only if there is nothing else.
 */
import { channel } from "node:diagnostics_channel";
import { type BatonError, isBatonError } from "../../base/errors.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";

const unread = channel("batonpass:envelope:unread");

/** Returns whether an error means that this version cannot read the envelope. */
export const isUnreadable = (error: unknown): error is BatonError =>
  isBatonError(error) && error.code === "unsupported_version";

/**
 * Returns the readable deliveries; throws `unsupported_version` if there are deliveries and none is readable.
 */
export function filterReadable(
  workspace: Workspace,
  listed: readonly DeliveryWithEnvelopeRow[],
): readonly DeliveryWithEnvelopeRow[] {
  let first: BatonError | undefined;
  const readable = listed.filter(({ delivery, envelope }) => {
    try {
      return parseEnvelope(workspace, envelope);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      unread.publish({ delivery: delivery.id, error });
      first ??= error;
      return false;
    }
  });
  if (readable.length === 0 && first !== undefined) throw first;
  return readable;
}

/** Returns the readable deliveries that can be claimed from these inboxes; considers one page of them. */
export async function listReadableDeliveries(
  workspace: Workspace,
  receivers: readonly string[],
  task: string | undefined,
): Promise<readonly string[]> {
  const { store, name, limits, clock } = workspace;
  const listed = await store.listDeliveries({
    workspace: name,
    receivers,
    states: ["ready", "scheduled"],
    limit: limits.pageSize,
    ...(task === undefined ? {} : { task }),
  });
  const isDue = ({ delivery: { state, readyAt, inTurn } }: DeliveryWithEnvelopeRow): boolean =>
    inTurn && (state === "ready" || readyAt <= clock.now());
  return filterReadable(workspace, listed.filter(isDue)).map(({ delivery }) => delivery.id);
}
