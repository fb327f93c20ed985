/**
 * Past what cannot be read here, because it is of a newer version: it stays in line for who can read it,
 * and holds up nothing that comes after it. Whoever subscribes is told: `{ delivery, error }`; whoever asks
 * is told where there is nothing else.
 */
import { channel } from "node:diagnostics_channel";
import { type BatonError, isBatonError } from "../../base/errors.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";

const unread = channel("batonpass:envelope:unread");

export const isUnreadable = (error: unknown): error is BatonError =>
  isBatonError(error) && error.code === "unsupported_version";

/** Those that can be read; none where there are some is an error. */
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

/** What can be taken from these inboxes and read; as many are looked at as a page has. */
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
