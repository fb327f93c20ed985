/** Watches a delivery for changes, by wake-ups from the store and by polling. */
import { sha256 } from "../../base/digest.ts";
import type { Delivery } from "../../history/delivery.ts";
import { unknownDelivery } from "../../history/unknown-delivery.ts";
import type { DeliveryRow } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { processDue } from "../due/process-due.ts";

/** How long to watch a delivery. */
export interface WatchOptions {
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Ends the wait after this many milliseconds. Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** Poll interval without a wake-up; every poll also carries out what is due. */
const POLL_MS = 500;
/** Shortest poll interval, because clocks differ and something due may stay due. */
const MIN_POLL_MS = 50;

/** Yields the delivery as it is now and after every change, until the caller stops or the time is up. */
export async function* watchDelivery(
  workspace: Workspace,
  id: string,
  { signal, timeoutMs = Number.POSITIVE_INFINITY }: WatchOptions,
): AsyncGenerator<DeliveryWithEnvelopeRow, void, undefined> {
  const until = performance.now() + timeoutMs;
  let last: string | undefined;
  const first = await find(workspace, id);
  const calls = new WakeListener(
    workspace,
    [first.delivery.sender, first.delivery.receiver],
    signal,
  );
  try {
    for (;;) {
      const now = await find(workspace, id);
      const mark = comparableTextOf(now.delivery);
      if (mark !== last) {
        last = mark;
        yield now;
        continue; // It may have changed again while the caller handled it.
      }
      const left = until - performance.now();
      if (left <= 0 || signal?.aborted) return;
      await calls.next(Math.min(POLL_MS, left, dueIn(workspace, now.delivery)));
      await processDue(workspace);
    }
  } finally {
    calls.stop();
  }
}

/** Returns in how many milliseconds a decision about the delivery is due. */
function dueIn({ clock }: Workspace, { lapseAt }: DeliveryRow): number {
  const soon = Math.max(MIN_POLL_MS, lapseAt - clock.now());
  return lapseAt === 0 ? Number.POSITIVE_INFINITY : soon;
}

async function find({ store, name }: Workspace, id: string): Promise<DeliveryWithEnvelopeRow> {
  const found = await store.findDelivery(name, id);
  if (found === undefined) throw unknownDelivery(id);
  return found;
}

/** Returns a short digest of a delivery, for callers that check whether it has changed. */
export const changeDigest = (delivery: Delivery): string =>
  sha256(comparableTextOf(delivery)).slice(0, 16);

/** Ignores lease renewals, which are not a change that a caller waits for. */
const comparableTextOf = ({
  leaseUntil: _,
  lapseAt: __,
  followers: ___,
  ...rest
}: Delivery | DeliveryRow): string => JSON.stringify(rest);

/** Waits for wake-ups of some agents, one wait at a time; a wake-up between two waits is not missed. */
class WakeListener {
  readonly #unlisten: readonly (() => void)[];
  readonly #signal: AbortSignal | undefined;
  readonly #wake = (): void => this.#called();
  #pending = false;
  #resolve: (() => void) | undefined;

  constructor(workspace: Workspace, agents: readonly string[], signal: AbortSignal | undefined) {
    const whom = agents.map((agent) => ({ workspace: workspace.name, agent }));
    this.#unlisten = whom.map((each) => workspace.store.onWake(each, this.#wake));
    this.#signal = signal;
    signal?.addEventListener("abort", this.#wake);
  }

  async next(ms: number): Promise<void> {
    if (!this.#pending) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
        timer = setTimeout(resolve, ms);
      });
      clearTimeout(timer);
      this.#resolve = undefined;
    }
    this.#pending = false;
  }

  stop(): void {
    for (const unlisten of this.#unlisten) unlisten();
    this.#signal?.removeEventListener("abort", this.#wake);
  }

  #called(): void {
    this.#pending = true;
    this.#resolve?.();
  }
}
