/** Waits over HTTP with long polls, repeated until there is a result or the time is up. */
import { isOpen } from "../base/delivery-states.ts";
import type { Delivery } from "../history/delivery.ts";
import { CLIENT_TIMING } from "./connection/timing.ts";
import type { Wire } from "./connection/wire.ts";

/** How long to wait. */
export interface WaitLimits {
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** In milliseconds (default: no limit). */
  readonly timeoutMs?: number | undefined;
}

/** Returns the duration of the next long poll. */
const remainingWaitMs = (until: number): number =>
  Math.max(0, Math.min(CLIENT_TIMING.waitMs, Math.ceil(until - performance.now())));

const deadlineOf = ({ timeoutMs = Number.POSITIVE_INFINITY }: WaitLimits): number =>
  performance.now() + timeoutMs;

/** Runs one long poll; undefined if the signal ended it. */
async function longPoll<Output>(
  wire: Wire,
  name: string,
  input: { readonly waitMs: number },
  signal: AbortSignal | undefined,
): Promise<Output | undefined> {
  const { waitMs } = input;
  try {
    return await wire.call(name, input, { signal, waitMs, waits: true });
  } catch (error) {
    if (signal?.aborted) return undefined;
    throw error;
  }
}

/** Polls until there is an outcome, the time is up, or the signal aborts. */
export async function waitForAnswer<Answer extends { readonly kind: string }>(
  wire: Wire,
  name: "deliveries.accepted" | "deliveries.completed",
  input: object,
  wait: WaitLimits,
): Promise<Answer> {
  const until = deadlineOf(wait);
  for (let last: Answer | undefined; ; ) {
    const isOver = wait.signal?.aborted === true;
    // Polls at least once, so that an aborted wait also returns the current state.
    const waitMs = isOver ? 0 : remainingWaitMs(until);
    const signal = isOver ? undefined : wait.signal;
    const answer = await longPoll<Answer>(wire, name, { ...input, waitMs }, signal);
    if (answer !== undefined && answer.kind !== "timeout") return answer;
    last = answer ?? last;
    if (last !== undefined && (isOver || until <= performance.now())) return last;
  }
}

/** A delivery, and its digest to pass as `seen` in the next poll. */
interface DeliveryChange {
  readonly delivery: Delivery;
  readonly digest: string;
}

/** Yields a delivery now and after each change, until it is settled. */
export async function* changesOf(
  wire: Wire,
  id: string,
  wait: WaitLimits,
): AsyncGenerator<Delivery, void, undefined> {
  const { signal } = wait;
  const until = deadlineOf(wait);
  for (let seen: string | undefined; ; ) {
    const isFirst = seen === undefined;
    const input = isFirst ? { id, waitMs: 0 } : { id, seen, waitMs: remainingWaitMs(until) };
    const listening = isFirst ? undefined : signal;
    const changed = await longPoll<DeliveryChange>(wire, "deliveries.watch", input, listening);
    if (changed !== undefined && changed.digest !== seen) {
      seen = changed.digest;
      yield changed.delivery;
      if (!isOpen(changed.delivery.state)) return;
    } else if (signal?.aborted || until <= performance.now()) return;
  }
}
