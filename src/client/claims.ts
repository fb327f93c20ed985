/**
 * Taking work over HTTP: one long poll at a time. Whoever stops waiting may have been given something whose
 * answer it no longer hears: the same call, asked again by its key, tells of it, and it is put back. So
 * nothing is held by somebody who does not know.
 */
import type { Receipt } from "../delivery/receive/receipt.ts";
import type { OfferForm, WorkForm } from "../hub/forms.ts";
import { newCallKey } from "./connection/call-key.ts";
import { PATIENCE } from "./connection/patience.ts";
import type { CallOptions, Wire } from "./connection/wire.ts";
import type { Station } from "./session.ts";

/** Which handoff: any, of a task, or one by id. */
interface Choosing {
  readonly delivery?: string | undefined;
  readonly task?: string | undefined;
}

export interface Waiting {
  readonly wait: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** The next offer; undefined when there is none, or the signal or the closing of the hub ended the wait. */
export function claimNext(
  station: Station,
  which: Choosing,
  waiting: Waiting,
): Promise<OfferForm | undefined> {
  const { wire } = station;
  return taking(station, waiting, {
    ask: async (options) =>
      (await wire.call<{ offer: OfferForm | null }>("inbox", saying(which, options), options))
        .offer,
    putBack: ({ handle }, options) => wire.call("offer.release", { handle }, options),
  });
}

/** The same, accepted in one step. */
export function acceptFirst(
  station: Station,
  choice: Choosing & { readonly receipt?: Receipt | undefined },
  waiting: Waiting,
): Promise<WorkForm | undefined> {
  const { wire } = station;
  return taking(station, waiting, {
    ask: async (options) =>
      (await wire.call<{ work: WorkForm | null }>("accept", saying(choice, options), options)).work,
    putBack: ({ handle }, options) => wire.call("work.release", { handle }, options),
  });
}

const saying = <Which>(which: Which, { waitMs = 0 }: CallOptions) => ({ ...which, waitMs });

interface Taking<Form> {
  readonly ask: (options: CallOptions) => Promise<Form | null>;
  readonly putBack: (form: Form, options: CallOptions) => Promise<unknown>;
}

interface Watched<Form> extends Taking<Form> {
  /** It is asked again: an earlier try may have taken something. */
  readonly onAgain: () => void;
  /** There was nothing yet. */
  readonly onNothing: () => Promise<void>;
}

function taking<Form extends { readonly handle: string }>(
  { wire, hands }: Station,
  waiting: Waiting,
  taking: Taking<Form>,
): Promise<Form | undefined> {
  const { connection } = wire;
  // A hub that is closed has no more work; only who asks a closed hub anew is told off.
  if (connection.closing.aborted) return Promise.reject(connection.closedHere);
  const onAgain = () => hands?.doubt();
  const onNothing = async () => hands?.whileWaiting(wire);
  const take = () => untilTaken(wire, waiting, { ...taking, onAgain, onNothing });
  return connection.track(hands === undefined ? take() : hands.taking(wire, take));
}

async function untilTaken<Form>(
  { connection }: Wire,
  { wait, signal }: Waiting,
  taking: Watched<Form>,
): Promise<Form | undefined> {
  const { closing } = connection;
  const isOver = (): boolean => closing.aborted || signal?.aborted === true;
  const waits = wait ? { waitMs: PATIENCE.waitMs, waits: true as const } : {};
  while (!isOver()) {
    const key = newCallKey();
    try {
      const found = await taking.ask({ key, signal, onAgain: taking.onAgain, ...waits });
      if (found !== null) return found;
      if (!wait) return undefined;
      await taking.onNothing();
    } catch (error) {
      if (!isOver()) throw error;
      void connection.track(putBack(taking, key));
    }
  }
  return undefined;
}

/**
 * The same call, which waits for nothing now. Out of reach, what was taken stays so until its lease runs
 * out.
 */
async function putBack<Form>({ ask, putBack }: Taking<Form>, key: string): Promise<void> {
  try {
    const found = await ask({ key, last: true });
    if (found !== null) await putBack(found, { last: true });
  } catch {
    // Nobody is left to be told.
  }
}
