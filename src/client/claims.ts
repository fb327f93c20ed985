/**
 * Claims work over HTTP, one long poll at a time. A caller that stops waiting may have claimed something
 * without receiving the response: the same call is repeated with its key, and what it returns is released. So
 * no delivery is held by a process that does not know about it.
 */
import type { Receipt } from "../delivery/receive/receipt.ts";
import type { SerializedOffer, SerializedWork } from "../hub/serialized.ts";
import { newCallKey } from "./connection/call-key.ts";
import { CLIENT_TIMING } from "./connection/timing.ts";
import type { CallOptions, Wire } from "./connection/wire.ts";
import type { SessionConnection } from "./session-connection.ts";

/** Which handoff to claim: any, one of a task, or one by delivery id. */
interface ClaimFilter {
  readonly delivery?: string | undefined;
  readonly task?: string | undefined;
}

/** Whether and how long to wait. */
export interface ClaimWait {
  readonly wait: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Claims the next offer; undefined if there is none, or if the signal or closing the hub ended the wait. */
export function claimNext(
  session: SessionConnection,
  which: ClaimFilter,
  waiting: ClaimWait,
): Promise<SerializedOffer | undefined> {
  const { wire } = session;
  return runClaim(session, waiting, {
    claim: async (options) =>
      (
        await wire.call<{ offer: SerializedOffer | null }>(
          "inbox",
          withWaitMs(which, options),
          options,
        )
      ).offer,
    release: ({ handle }, options) => wire.call("offer.release", { handle }, options),
  });
}

/** Claims and accepts the next offer in one step; undefined as for `claimNext`. */
export function claimAndAccept(
  session: SessionConnection,
  choice: ClaimFilter & { readonly receipt?: Receipt | undefined },
  waiting: ClaimWait,
): Promise<SerializedWork | undefined> {
  const { wire } = session;
  return runClaim(session, waiting, {
    claim: async (options) =>
      (
        await wire.call<{ work: SerializedWork | null }>(
          "accept",
          withWaitMs(choice, options),
          options,
        )
      ).work,
    release: ({ handle }, options) => wire.call("work.release", { handle }, options),
  });
}

const withWaitMs = <Which>(which: Which, { waitMs = 0 }: CallOptions) => ({ ...which, waitMs });

interface ClaimCall<Form> {
  readonly claim: (options: CallOptions) => Promise<Form | null>;
  readonly release: (form: Form, options: CallOptions) => Promise<unknown>;
}

interface TrackedClaimCall<Form> extends ClaimCall<Form> {
  /** Called when the call is sent again: an earlier attempt may have claimed something. */
  readonly onAgain: () => void;
  /** Called when a poll returned nothing. */
  readonly onNothing: () => Promise<void>;
}

function runClaim<Form extends { readonly handle: string }>(
  { wire, handles }: SessionConnection,
  waiting: ClaimWait,
  call: ClaimCall<Form>,
): Promise<Form | undefined> {
  const { connection } = wire;
  // Closing ends a wait without an error; only a new call on a closed hub is refused.
  if (connection.closing.aborted) return Promise.reject(connection.closedHere);
  const onAgain = () => handles?.markDoubtful();
  const onNothing = async () => handles?.whileWaiting(wire);
  const poll = () => pollUntilClaimed(wire, waiting, { ...call, onAgain, onNothing });
  return connection.track(handles === undefined ? poll() : handles.runClaim(wire, poll));
}

async function pollUntilClaimed<Form>(
  { connection }: Wire,
  { wait, signal }: ClaimWait,
  call: TrackedClaimCall<Form>,
): Promise<Form | undefined> {
  const { closing } = connection;
  const isOver = (): boolean => closing.aborted || signal?.aborted === true;
  const waits = wait ? { waitMs: CLIENT_TIMING.waitMs, waits: true as const } : {};
  while (!isOver()) {
    const key = newCallKey();
    try {
      const found = await call.claim({ key, signal, onAgain: call.onAgain, ...waits });
      if (found !== null) return found;
      if (!wait) return undefined;
      await call.onNothing();
    } catch (error) {
      if (!isOver()) throw error;
      void connection.track(releaseUnreceived(call, key));
    }
  }
  return undefined;
}

/**
 * Repeats the call without waiting and releases what it claimed. If the hub is unreachable, the claim stays
 * until its lease expires.
 */
async function releaseUnreceived<Form>(
  { claim, release }: ClaimCall<Form>,
  key: string,
): Promise<void> {
  try {
    const found = await claim({ key, last: true });
    if (found !== null) await release(found, { last: true });
  } catch {
    // The caller is gone, so there is no one to report the error to.
  }
}
