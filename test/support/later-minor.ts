/**
 * Senders of a later minor version, which exists in tests only: their envelopes have fields that
 * this Baton does not know, at the top level and inside known ones. Also reads envelopes as they
 * are stored.
 */

import { type EnvelopeForm, EnvelopeVersions } from "../../src/envelope/versions.ts";
import type { Envelope, Hub } from "../../src/index.ts";

/** The fields that version 1.7 adds. */
export const LATER = {
  aside: { branch: "nowhere", expects: [], receipt: true },
  tone: "calm",
  zest: [{ version: "9.9", workspace: "elsewhere" }],
} as const;

class LaterMinor extends EnvelopeVersions {
  override get writesOwnShape(): boolean {
    return false;
  }

  override write(envelope: Envelope): EnvelopeForm {
    const added = <T extends object>(items: readonly T[]) =>
      items.map((item) => ({ ...item, weight: 3 }));
    return {
      ...envelope,
      ...LATER,
      constraints: added(envelope.constraints),
      decisions: added(envelope.decisions),
      from: { ...envelope.from, nickname: "the tall one" },
      history: added(envelope.history),
      refs: added(envelope.refs),
      version: "1.7",
    };
  }
}

export const LATER_MINOR = new LaterMinor();

/** Returns every envelope of a workspace as stored, oldest first. */
export async function storedEnvelopes(
  hub: Hub,
): Promise<readonly { readonly id: string; readonly task: string; readonly text: string }[]> {
  let text = "";
  for await (const piece of hub.archive.export()) text += piece;
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .flatMap(({ kind, row }) => (kind === "envelope" ? [row] : []));
}
