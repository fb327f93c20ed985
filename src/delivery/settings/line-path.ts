/** Path of a line (which agents handed it to which receivers), cycle detection, and the hop-limit reason. */
import { canonicalJson, sha256 } from "../../base/digest.ts";
import { addressOf, type Envelope } from "../../envelope/schema.ts";

/** The earlier hops of a line: sender, receiver, and a digest of what was passed on. */
export type LinePath = NonNullable<Envelope["path"]>;

/** Returns the hop of an envelope. Without a payload, the digest covers `done`, `next` and `state`. */
export function hopOf(envelope: Envelope): LinePath[number] {
  const { from, to, payload, done, next, state = "" } = envelope;
  const carried = canonicalJson(payload ?? { done, next, state }, "invalid_envelope");
  return { from: from.agent, payload: sha256(carried), to: addressOf(to) };
}

/**
 * Returns the cycle that an envelope closes: a repeated hop with the same digest. Empty if content changed.
 */
export function cycleIn(envelope: Envelope): LinePath {
  const { path } = envelope;
  if (path === undefined) return [];
  const own = hopOf(envelope);
  const since = path.findLastIndex(
    (hop) => hop.from === own.from && hop.to === own.to && hop.payload === own.payload,
  );
  return since < 0 ? [] : [...path.slice(since), own];
}

/** Returns the reason that is recorded when a line exceeds the hop limit. */
export const hopLimitReason = ({ hop, path = [] }: Envelope, limit: number) => ({
  hop,
  limit,
  path,
  reason: "hop_limit",
});
