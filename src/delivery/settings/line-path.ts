/** The way a line has gone: a repeat that carries nothing new is a cycle. */
import { canonicalJson, sha256 } from "../../base/digest.ts";
import { addressOf, type Envelope } from "../../envelope/schema.ts";

export type LinePath = NonNullable<Envelope["path"]>;

/** Without a payload, what was done and is to be done tells whether a line makes progress. */
export function hopOf(envelope: Envelope): LinePath[number] {
  const { from, to, payload, done, next, state = "" } = envelope;
  const carried = canonicalJson(payload ?? { done, next, state }, "invalid_envelope");
  return { from: from.agent, payload: sha256(carried), to: addressOf(to) };
}

/** A repeat with an unchanged payload is a cycle; a loop that makes progress is none. */
export function cycleIn(envelope: Envelope): LinePath {
  const { path } = envelope;
  if (path === undefined) return [];
  const own = hopOf(envelope);
  const since = path.findLastIndex(
    (hop) => hop.from === own.from && hop.to === own.to && hop.payload === own.payload,
  );
  return since < 0 ? [] : [...path.slice(since), own];
}

/** Why a line that is longer than it may be has stopped. */
export const hopLimitReason = ({ hop, path = [] }: Envelope, limit: number) => ({
  hop,
  limit,
  path,
  reason: "hop_limit",
});
