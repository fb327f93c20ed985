/**
 * Claiming over HTTP: one long poll at a time. Whoever stops waiting may have been given an offer whose
 * answer it no longer hears: the same call, asked again by its key, tells of it, and it is put back. So
 * nothing is held by somebody who does not know.
 */
import { randomUUID } from "node:crypto";
import type { OfferForm } from "../delivery/forms.ts";
import { PATIENCE } from "./patience.ts";
import type { Wire } from "./wire.ts";

interface Which {
  readonly delivery?: string | undefined;
  readonly task?: string | undefined;
}

interface Waiting {
  readonly wait: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** The next offer; undefined when there is none, or the signal or the closing of the hub ended the wait. */
export function claimNext(
  wire: Wire,
  which: Which,
  waiting: Waiting,
): Promise<OfferForm | undefined> {
  const { connection } = wire;
  // A hub that is closed has no more work; only who asks a closed hub anew is told off.
  if (connection.closing.aborted) return Promise.reject(connection.closedHere);
  return connection.track(claiming(wire, which, waiting));
}

async function claiming(
  wire: Wire,
  which: Which,
  { wait, signal }: Waiting,
): Promise<OfferForm | undefined> {
  const { closing } = wire.connection;
  const isOver = (): boolean => closing.aborted || signal?.aborted === true;
  const waitMs = wait ? PATIENCE.waitMs : 0;
  const input = { ...which, waitMs };
  while (!isOver()) {
    const key = randomUUID();
    try {
      const options = { key, signal, waitMs, ...(wait && { waits: true as const }) };
      const { offer } = await wire.call("claim", input, options);
      if (offer !== null) return offer;
      if (!wait) return undefined;
    } catch (error) {
      if (!isOver()) throw error;
      void wire.connection.track(putBack(wire, input, key));
    }
  }
  return undefined;
}

/** Out of reach, it stays claimed until its lease runs out. */
async function putBack(wire: Wire, input: Which, key: string): Promise<void> {
  try {
    const { offer } = await wire.call("claim", input, { key, last: true });
    if (offer !== null) await wire.call("releaseOffer", { handle: offer.handle }, { last: true });
  } catch {
    // Nobody is left to be told.
  }
}
