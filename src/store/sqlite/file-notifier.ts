/**
 * Wake-ups among all processes on one file. Beside the store lies a folder, `<file>.bells`, with a
 * file for each agent that somebody has listened for. After a commit the bells of those it concerns
 * are touched; whoever listens watches the folder, with one watch per open store.
 *
 * - **Nobody is missed between looking and listening.** Who listens first sets up what it takes to
 *   be called, and looks afterwards; who writes first commits, and looks for bells afterwards. So
 *   either the bell is rung, or the look finds what was committed. On Linux and Windows a watch is
 *   at work when `watch` returns; macOS takes a moment more, and the safety look makes up for it.
 * - **Only who listens makes anything.** Without others who do, a commit costs one look (presence.ts),
 *   2 µs; with them, 3 µs for each bell. Right after a commit, with cold caches, thrice that.
 * - **Our own rings are not news.** Whoever listens here is called after the bell was rung, and so
 *   looks after every ring before it: a bell that we have rung last calls nobody.
 *
 * It never throws, and never keeps a process alive. A wake-up is a hint: where there can be no
 * watch (limits of the system) or no bell (rights), the next look of the inbox finds the work.
 */
import { randomInt } from "node:crypto";
import { type FSWatcher, realpathSync, watch } from "node:fs";
import { basename } from "node:path";
import type { WakeTarget } from "../store.ts";
import { WakeNotifier } from "../wake-notifier.ts";
import { Presence } from "./listener-presence.ts";
import { makeFolder, WakeFiles } from "./wake-files.ts";

/** Until what was removed is made anew, or what failed is tried again. Removing takes a while. */
const REPAIR_DELAY_MS = 1_000;

/** A store's number is a time in whole seconds, as every file system can keep it. */
const MAX_STORE_NUMBER = 2 ** 31;

interface Subscription {
  readonly whom: WakeTarget;
  listeners: number;
}

export class FileNotifier {
  readonly #folder: string;
  readonly #bells: WakeFiles;
  readonly #presence: Presence;
  readonly #here = new WakeNotifier();
  /** What somebody here listens for, by the name of its file. */
  readonly #heard = new Map<string, Subscription>();
  #watcher: FSWatcher | undefined;
  #mending: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(file: string) {
    const number = randomInt(1, MAX_STORE_NUMBER);
    this.#folder = `${resolveLinks(file)}.bells`;
    this.#bells = new WakeFiles(this.#folder, number);
    this.#presence = new Presence(this.#folder, number);
  }

  /** Whatever is committed from here on calls the listener. Returns how to stop. */
  listen(whom: WakeTarget, listener: () => void): () => void {
    const name = WakeFiles.nameOf(whom);
    const heard = this.#heard.get(name) ?? { whom, listeners: 0 };
    this.#heard.set(name, heard);
    heard.listeners++;
    this.#attend([heard]);
    const stop = this.#here.listen(whom, listener);
    let listening = true;
    return () => {
      if (!listening) return;
      listening = false;
      stop();
      this.#leave(name, heard);
    };
  }

  /** After a commit. Bells first, then those here: see above. */
  ring(wakes: Iterable<WakeTarget>): void {
    const all = [...wakes];
    if (all.length === 0) return;
    if (this.#presence.othersListen()) for (const whom of all) this.#bells.touch(whom);
    this.#here.ring(all);
  }

  /** The store closes: whoever waits shall look, and see. */
  close(): void {
    this.#closed = true;
    this.#unwatch();
    this.#presence.signOut();
    this.#here.ringAll();
  }

  /** Sees to it that the bells are there, watched, and rung by others. True when they are. */
  #attend(all: Iterable<Subscription>): boolean {
    if (this.#closed) return false;
    try {
      this.#watch();
      for (const { whom } of all) {
        // Whoever listened while it was missing may have missed something.
        if (this.#bells.make(whom)) this.#here.ring([whom]);
      }
      return true;
    } catch {
      this.#mendSoon();
      return false;
    }
  }

  #watch(): void {
    if (this.#watcher !== undefined) return;
    makeFolder(this.#folder);
    this.#watcher = watch(this.#folder, { persistent: false }, (kind, name) =>
      this.#noticed(kind, name),
    );
    this.#watcher.on("error", () => this.#mendSoon());
    this.#presence.signIn();
  }

  #noticed(kind: string, name: string | null): void {
    const heard = this.#heard.get(name ?? "");
    if (name === null) {
      this.#here.ringAll(); // Where the system does not say which, it may have been any.
    } else if (heard !== undefined) {
      const rung = this.#bells.lastRung(heard.whom);
      if (rung === "by others") this.#here.ring([heard.whom]);
      if (rung === "gone") this.#mendSoon();
    } else if (kind === "rename") {
      const isFolder = name === basename(this.#folder); // Removed, moved, or its rights changed.
      if (isFolder || this.#presence.isLostWith(name)) this.#mendSoon();
    }
  }

  #mendSoon(): void {
    if (this.#closed || this.#heard.size === 0) return;
    this.#mending ??= setTimeout(() => this.#mend(), REPAIR_DELAY_MS).unref();
  }

  /** From the beginning, since the folder may be another by now. Rings were lost meanwhile. */
  #mend(): void {
    this.#unwatch();
    if (this.#attend(this.#heard.values())) this.#here.ringAll();
  }

  #leave(name: string, heard: Subscription): void {
    heard.listeners--;
    if (heard.listeners > 0) return;
    this.#heard.delete(name);
    if (this.#heard.size === 0) this.#unwatch();
  }

  #unwatch(): void {
    clearTimeout(this.#mending);
    this.#mending = undefined;
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}

/** One folder for all who share the file, whichever way each of them came to it. */
function resolveLinks(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
