/**
 * Wakes the waits of this process for one agent's work. They take turns: a wake-up from the store, or a
 * timer, wakes one of them, and each one that finds work wakes two more, so that one handoff does not wake
 * sixty-four waits that find nothing. A wait for a particular task or delivery is always woken, because what
 * the others find says nothing about it.
 *
 * The subscription to the store's wake-ups lasts from the first wait until the store closes, so that no
 * wake-up is missed between a poll and the sleep after it.
 */
import { roleInbox } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { holderWatchOf } from "./holder-watch.ts";

/**
 * Poll interval without a wake-up. Bounds the cost of a lost wake-up, and the time until the end of a process
 * is noticed that has held work only briefly (holder-watch.ts).
 */
const SAFETY_POLL_MS = 750;

/** A wait that finds work wakes this many others: with much work, all are awake after a few rounds. */
const WAKE_COUNT = 2;

interface Waiter {
  readonly particular: boolean;
  wake(): void;
}

const waitersByAgent = new WeakMap<object, Map<string, InboxWaiters>>();

/** Returns the waits for an agent's work: its own inbox and that of its role. */
export function waitersFor(
  workspace: Workspace,
  { agent, role }: { readonly agent: string; readonly role?: string | undefined },
): InboxWaiters {
  const agents = waitersByAgent.get(workspace.root) ?? new Map<string, InboxWaiters>();
  waitersByAgent.set(workspace.root, agents);
  const waiters = agents.get(agent) ?? new InboxWaiters(workspace, agent);
  agents.set(agent, waiters);
  if (role !== undefined) waiters.subscribe(roleInbox(role));
  return waiters;
}

/** The waits of one agent in this process. */
export class InboxWaiters {
  readonly #waiters = new Set<Waiter>();
  /** A wake-up arrived while no wait slept: the next one that finds nothing polls again. */
  #called = false;
  /** The store is closed: waits return at once. */
  #ended = false;
  #timer: NodeJS.Timeout | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  readonly #workspace: Workspace;
  /** The inboxes it subscribes to, with the function that unsubscribes. */
  readonly #subscriptions = new Map<string, () => void>();
  readonly #onHolderEnded = (): void => this.#wakeNext();

  constructor(workspace: Workspace, agent: string) {
    this.#workspace = workspace;
    this.subscribe(agent);
  }

  /** Subscribes to the wake-ups of another inbox. */
  subscribe(inbox: string): void {
    if (this.#subscriptions.has(inbox)) return;
    const { store, name } = this.#workspace;
    this.#subscriptions.set(
      inbox,
      store.onWake({ workspace: name, agent: inbox }, () => this.#call()),
    );
  }

  /** Called before a poll, which covers every wake-up so far. */
  looking(): void {
    this.#called = false;
  }

  /** Passes a wake-up on when a wait ends without polling. */
  passOn(): void {
    this.#wakeNext();
  }

  /** Ends all waits because the store is closed, including those with a claim under way. */
  end(): void {
    this.#ended = true;
    for (const waiter of this.#waiters) this.#wake(waiter);
  }

  /**
   * Called when a wait found work. If it came from a shared inbox, this agent moves to the end of the inbox's
   * subscribers, so that another one is woken first next time.
   */
  found(inbox: string | undefined): void {
    if (inbox !== undefined && this.#subscriptions.size > 1) {
      this.#subscriptions.get(inbox)?.();
      this.#subscriptions.delete(inbox);
      this.subscribe(inbox);
    }
    let left = WAKE_COUNT;
    for (const waiter of this.#waiters) {
      if (waiter.particular) continue;
      if (left-- === 0) return;
      this.#wake(waiter);
    }
  }

  /**
   * Sleeps until a wake-up, until something falls due (`dueMs`; 0 if nothing will), or until the safety poll.
   */
  sleep(of: {
    readonly dueMs: number;
    readonly particular: boolean;
    readonly signal: AbortSignal | undefined;
  }): Promise<void> {
    const { dueMs, particular, signal } = of;
    if (this.#called || this.#ended || signal?.aborted) return Promise.resolve();
    this.#lookIn(Math.min(SAFETY_POLL_MS, dueMs || SAFETY_POLL_MS));
    return new Promise((resolve) => {
      const wake = (): void => {
        signal?.removeEventListener("abort", ended);
        resolve();
      };
      const waiter = { particular, wake };
      const ended = (): void => this.#wake(waiter);
      signal?.addEventListener("abort", ended);
      this.#waiters.add(waiter);
      holderWatchOf(this.#workspace).addWaiter(this.#onHolderEnded);
    });
  }

  #call(): void {
    this.#called = true;
    this.#wakeNext();
  }

  /** Wakes one of the waits for any work, and all waits for a particular task or delivery. */
  #wakeNext(): void {
    let one = false;
    for (const waiter of this.#waiters) {
      if (one && !waiter.particular) continue;
      one ||= !waiter.particular;
      this.#wake(waiter);
    }
  }

  #wake(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    if (this.#waiters.size === 0) {
      this.#restWatch();
      holderWatchOf(this.#workspace).removeWaiter(this.#onHolderEnded);
    }
    waiter.wake();
  }

  /** Sets the timer that all waits share to the earliest time. */
  #lookIn(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.#wakeAt) return;
    clearTimeout(this.#timer);
    this.#wakeAt = at;
    this.#timer = setTimeout(() => this.#timeIsUp(), ms);
  }

  #timeIsUp(): void {
    this.#restWatch();
    this.#wakeNext();
    if (this.#waiters.size > 0) this.#lookIn(SAFETY_POLL_MS);
  }

  #restWatch(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
  }
}
