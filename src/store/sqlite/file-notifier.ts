/**
 * Wake-ups between all processes that use one store file. Next to the store is a folder, `<file>.bells`, with
 * one file per agent that a process has listened for (its bell). After a commit, the bells of the agents it
 * concerns are touched; listeners watch the folder, with one watch per open store.
 *
 * - **No gap between checking and listening.** A listener first sets up its watch and then checks its inbox;
 *   a writer first commits and then checks for bells. So either the bell is touched, or the check finds what
 *   was committed. On Linux and Windows a watch is active when `watch` returns; on macOS it takes a moment
 *   longer, which the periodic check of the inbox covers.
 * - **Only listeners create files.** Without listeners in other processes a commit costs one stat
 *   (listener-presence.ts), 2 µs; with them, 3 µs per bell. Right after a commit, with cold caches, three
 *   times that.
 * - **Own touches are ignored.** Listeners in this process are called after the bell was touched, so they
 *   check after every touch before it: a bell that this store touched last wakes no listener.
 *
 * It never throws and never keeps a process alive. A wake-up is a hint: where watching is not possible
 * (system limits) or bells cannot be created (permissions), the next poll of the inbox finds the work.
 */
import { randomInt } from "node:crypto";
import { type FSWatcher, realpathSync, watch } from "node:fs";
import { basename } from "node:path";
import { modeOf, PRIVATE_FILE } from "../../base/files/private-file.ts";
import type { WakeTarget } from "../store.ts";
import { WakeNotifier } from "../wake/wake-notifier.ts";
import { Presence } from "./listener-presence.ts";
import { makeFolder, WakeFiles } from "./wake-files.ts";

/**
 * Delay before deleted files are created again or a failed step is retried. Deleting a folder takes a while.
 */
const REPAIR_DELAY_MS = 1_000;

/** The number of a store is written as a time in whole seconds, which every file system can store. */
const MAX_STORE_NUMBER = 2 ** 31;

/** One agent that this process listens for. */
interface Subscription {
  readonly whom: WakeTarget;
  listeners: number;
}

/** The wake-ups of one open store, within the process and between processes. */
export class FileNotifier {
  readonly #folder: string;
  readonly #mode: number;
  readonly #bells: WakeFiles;
  readonly #presence: Presence;
  readonly #here = new WakeNotifier();
  /** The agents that this process listens for, by the name of their file. */
  readonly #subscriptions = new Map<string, Subscription>();
  #watcher: FSWatcher | undefined;
  #repairing: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(file: string) {
    const number = randomInt(1, MAX_STORE_NUMBER);
    this.#folder = `${resolveLinks(file)}.bells`;
    this.#mode = modeOf(file) ?? PRIVATE_FILE;
    this.#bells = new WakeFiles(this.#folder, { ringer: number, mode: this.#mode });
    this.#presence = new Presence(this.#folder, { number, mode: this.#mode });
  }

  /** Calls the listener after every commit from now on. Returns a function that stops it. */
  listen(whom: WakeTarget, listener: () => void): () => void {
    const name = WakeFiles.nameOf(whom);
    const subscription = this.#subscriptions.get(name) ?? { whom, listeners: 0 };
    this.#subscriptions.set(name, subscription);
    subscription.listeners++;
    this.#attend([subscription]);
    const stop = this.#here.listen(whom, listener);
    let listening = true;
    return () => {
      if (!listening) return;
      listening = false;
      stop();
      this.#leave(name, subscription);
    };
  }

  /** Called after a commit. Touches the bells first, then calls local listeners (see above). */
  ring(wakes: Iterable<WakeTarget>): void {
    const all = [...wakes];
    if (all.length === 0) return;
    if (this.#presence.othersListen()) for (const whom of all) this.#bells.touch(whom);
    this.#here.ring(all);
  }

  /** Closes it and calls every listener, so that waiting callers notice it. */
  close(): void {
    this.#closed = true;
    this.#unwatch();
    this.#presence.signOut();
    this.#here.ringAll();
  }

  /** Creates and watches the bells, and announces this process to others. Returns whether that worked. */
  #attend(all: Iterable<Subscription>): boolean {
    if (this.#closed) return false;
    try {
      this.#watch();
      for (const { whom } of all) {
        // A wake-up may have been lost while the bell was missing.
        if (this.#bells.make(whom)) this.#here.ring([whom]);
      }
      return true;
    } catch {
      this.#scheduleRepair();
      return false;
    }
  }

  #watch(): void {
    if (this.#watcher !== undefined) return;
    makeFolder(this.#folder, this.#mode);
    this.#watcher = watch(this.#folder, { persistent: false }, (kind, name) =>
      this.#noticed(kind, name),
    );
    this.#watcher.on("error", () => this.#scheduleRepair());
    this.#presence.signIn();
  }

  #noticed(kind: string, name: string | null): void {
    const subscription = this.#subscriptions.get(name ?? "");
    if (name === null) {
      this.#here.ringAll(); // The system does not report the name, so it may have been any bell.
    } else if (subscription !== undefined) {
      const rung = this.#bells.lastRung(subscription.whom);
      if (rung === "by others") this.#here.ring([subscription.whom]);
      if (rung === "gone") this.#scheduleRepair();
    } else if (kind === "rename") {
      const isFolder = name === basename(this.#folder); // Deleted, moved, or its permissions changed.
      if (isFolder || this.#presence.isLostWith(name)) this.#scheduleRepair();
    }
  }

  #scheduleRepair(): void {
    if (this.#closed || this.#subscriptions.size === 0) return;
    this.#repairing ??= setTimeout(() => this.#repair(), REPAIR_DELAY_MS).unref();
  }

  /**
   * Starts over, because the folder may have been replaced. Calls all listeners: wake-ups were lost
   * meanwhile.
   */
  #repair(): void {
    this.#unwatch();
    if (this.#attend(this.#subscriptions.values())) this.#here.ringAll();
  }

  #leave(name: string, subscription: Subscription): void {
    subscription.listeners--;
    if (subscription.listeners > 0) return;
    this.#subscriptions.delete(name);
    if (this.#subscriptions.size === 0) this.#unwatch();
  }

  #unwatch(): void {
    clearTimeout(this.#repairing);
    this.#repairing = undefined;
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}

/** Resolves links, so that all processes that share the file use one folder, whichever path they opened. */
function resolveLinks(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
