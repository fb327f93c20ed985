/**
 * All who wait for one agent's work in this process. They take turns: a call from the store, or the
 * time, wakes one of them, and whoever finds something wakes two more, so that a handoff does not
 * rouse sixty-four to find nothing. Who waits for a certain task or delivery is always woken: what
 * the others find says nothing about that.
 *
 * The store is listened to from the first wait on, for as long as it is open: nothing falls between
 * a look and the sleep after it.
 */
import { roleInbox } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/**
 * How often to look although nobody called: bounds what a lost wake-up can cost, and how long it
 * takes until the end of a holder's process is noticed (within a second).
 */
const SAFETY_POLL_MS = 750;

/** Who finds something wakes so many: all are up after a few rounds when there is much to do. */
const WAKE_COUNT = 2;

interface Sleeper {
  readonly particular: boolean;
  wake(): void;
}

const waitersByAgent = new WeakMap<object, Map<string, InboxWaiters>>();

/** Those who wait for this agent's work: its own, and what comes for its role. */
export function waitersFor(
  workspace: Workspace,
  { agent, role }: { readonly agent: string; readonly role?: string | undefined },
): InboxWaiters {
  const agents = waitersByAgent.get(workspace.root) ?? new Map<string, InboxWaiters>();
  waitersByAgent.set(workspace.root, agents);
  const waiters = agents.get(agent) ?? new InboxWaiters(workspace, agent);
  agents.set(agent, waiters);
  if (role !== undefined) waiters.hear(roleInbox(role));
  return waiters;
}

export class InboxWaiters {
  readonly #sleepers = new Set<Sleeper>();
  /** Somebody called while all were up: whoever finds nothing looks again. */
  #called = false;
  /** The store is closed: no wait sleeps any more. */
  #ended = false;
  #timer: NodeJS.Timeout | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  readonly #workspace: Workspace;
  /** Inboxes that are listened to, with how to stop. */
  readonly #heard = new Map<string, () => void>();

  constructor(workspace: Workspace, agent: string) {
    this.#workspace = workspace;
    this.hear(agent);
  }

  /** Listens to an inbox too. */
  hear(inbox: string): void {
    if (this.#heard.has(inbox)) return;
    const { store, name } = this.#workspace;
    this.#heard.set(
      inbox,
      store.onWake({ workspace: name, agent: inbox }, () => this.#call()),
    );
  }

  /** About to look: what was called before is seen by that look. */
  looking(): void {
    this.#called = false;
  }

  /** Ends its wait without a look. */
  passOn(): void {
    this.#rouse();
  }

  /** The store is closed. Also ends the waits whose last claim is still under way. */
  end(): void {
    this.#ended = true;
    for (const sleeper of this.#sleepers) this.#wake(sleeper);
  }

  /**
   * Who got something from an inbox that it shares goes to the end of those who listen: next time
   * another is called first.
   */
  found(inbox: string | undefined): void {
    if (inbox !== undefined && this.#heard.size > 1) {
      this.#heard.get(inbox)?.();
      this.#heard.delete(inbox);
      this.hear(inbox);
    }
    let left = WAKE_COUNT;
    for (const sleeper of this.#sleepers) {
      if (sleeper.particular) continue;
      if (left-- === 0) return;
      this.#wake(sleeper);
    }
  }

  /** Until somebody calls, something falls due (`dueMs`, 0: nothing will), or it is time to look. */
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
      const sleeper = { particular, wake };
      const ended = (): void => this.#wake(sleeper);
      signal?.addEventListener("abort", ended);
      this.#sleepers.add(sleeper);
    });
  }

  #call(): void {
    this.#called = true;
    this.#rouse();
  }

  /** One for all who take whatever comes, and everybody who does not. */
  #rouse(): void {
    let one = false;
    for (const sleeper of this.#sleepers) {
      if (one && !sleeper.particular) continue;
      one ||= !sleeper.particular;
      this.#wake(sleeper);
    }
  }

  #wake(sleeper: Sleeper): void {
    this.#sleepers.delete(sleeper);
    if (this.#sleepers.size === 0) this.#restWatch();
    sleeper.wake();
  }

  /** One watch for all of them, set to the first who wants to be woken. */
  #lookIn(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.#wakeAt) return;
    clearTimeout(this.#timer);
    this.#wakeAt = at;
    this.#timer = setTimeout(() => this.#timeIsUp(), ms);
  }

  #timeIsUp(): void {
    this.#restWatch();
    this.#rouse();
    if (this.#sleepers.size > 0) this.#lookIn(SAFETY_POLL_MS);
  }

  #restWatch(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
  }
}
