/**
 * Taking work over HTTP: one long poll at a time. Whoever stops waiting may have been given something whose
 * answer it no longer hears: the same call, asked again by its key, tells of it, and it is put back. So
 * nothing is held by somebody who does not know.
 */
import type { Receipt } from "../delivery/receive/receipt.ts";
import type { SerializedOffer, SerializedWork } from "../hub/serialized.ts";
import { newCallKey } from "./connection/call-key.ts";
import { CLIENT_TIMING } from "./connection/timing.ts";
import type { CallOptions, Wire } from "./connection/wire.ts";
import type { SessionConnection } from "./session-connection.ts";

/** Which handoff: any, of a task, or one by id. */
interface ClaimFilter {
  readonly delivery?: string | undefined;
  readonly task?: string | undefined;
}

export interface ClaimWait {
  readonly wait: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** The next offer; undefined when there is none, or the signal or the closing of the hub ended the wait. */
export function claimNext(
  station: SessionConnection,
  which: ClaimFilter,
  waiting: ClaimWait,
): Promise<SerializedOffer | undefined> {
  const { wire } = station;
  return runClaim(station, waiting, {
    ask: async (options) =>
      (
        await wire.call<{ offer: SerializedOffer | null }>(
          "inbox",
          withWaitMs(which, options),
          options,
        )
      ).offer,
    putBack: ({ handle }, options) => wire.call("offer.release", { handle }, options),
  });
}

/** The same, accepted in one step. */
export function claimAndAccept(
  station: SessionConnection,
  choice: ClaimFilter & { readonly receipt?: Receipt | undefined },
  waiting: ClaimWait,
): Promise<SerializedWork | undefined> {
  const { wire } = station;
  return runClaim(station, waiting, {
    ask: async (options) =>
      (
        await wire.call<{ work: SerializedWork | null }>(
          "accept",
          withWaitMs(choice, options),
          options,
        )
      ).work,
    putBack: ({ handle }, options) => wire.call("work.release", { handle }, options),
  });
}

const withWaitMs = <Which>(which: Which, { waitMs = 0 }: CallOptions) => ({ ...which, waitMs });

interface ClaimCall<Form> {
  readonly ask: (options: CallOptions) => Promise<Form | null>;
  readonly putBack: (form: Form, options: CallOptions) => Promise<unknown>;
}

interface TrackedClaimCall<Form> extends ClaimCall<Form> {
  /** It is asked again: an earlier try may have taken something. */
  readonly onAgain: () => void;
  /** There was nothing yet. */
  readonly onNothing: () => Promise<void>;
}

function runClaim<Form extends { readonly handle: string }>(
  { wire, hands }: SessionConnection,
  waiting: ClaimWait,
  taking: ClaimCall<Form>,
): Promise<Form | undefined> {
  const { connection } = wire;
  // A hub that is closed has no more work; only who asks a closed hub anew is told off.
  if (connection.closing.aborted) return Promise.reject(connection.closedHere);
  const onAgain = () => hands?.doubt();
  const onNothing = async () => hands?.whileWaiting(wire);
  const take = () => pollUntilClaimed(wire, waiting, { ...taking, onAgain, onNothing });
  return connection.track(hands === undefined ? take() : hands.taking(wire, take));
}

async function pollUntilClaimed<Form>(
  { connection }: Wire,
  { wait, signal }: ClaimWait,
  taking: TrackedClaimCall<Form>,
): Promise<Form | undefined> {
  const { closing } = connection;
  const isOver = (): boolean => closing.aborted || signal?.aborted === true;
  const waits = wait ? { waitMs: CLIENT_TIMING.waitMs, waits: true as const } : {};
  while (!isOver()) {
    const key = newCallKey();
    try {
      const found = await taking.ask({ key, signal, onAgain: taking.onAgain, ...waits });
      if (found !== null) return found;
      if (!wait) return undefined;
      await taking.onNothing();
    } catch (error) {
      if (!isOver()) throw error;
      void connection.track(releaseUnreceived(taking, key));
    }
  }
  return undefined;
}

/**
 * The same call, which waits for nothing now. Out of reach, what was taken stays so until its lease runs
 * out.
 */
async function releaseUnreceived<Form>(
  { ask, putBack }: ClaimCall<Form>,
  key: string,
): Promise<void> {
  try {
    const found = await ask({ key, last: true });
    if (found !== null) await putBack(found, { last: true });
  } catch {
    // Nobody is left to be told.
  }
}
