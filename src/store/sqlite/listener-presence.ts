/**
 * Detects with one `stat` call whether other processes listen for wake-ups. Each open store that listens keeps a
 * hard link to a shared file in the wake-up folder until it closes. The link count of that file, minus the
 * file itself and the store's own link, is the number of others. So a program that is alone with its store
 * touches no wake-up files; touching them, and receiving its own events, would reduce its handoffs per second
 * by a tenth.
 *
 * Counting too many costs needless touches; counting too few would lose wake-ups. So a killed process still
 * counts until the next one registers and deletes its link. A process that lost its link by mistake (from
 * another container it may seem dead) notices that through the file watcher and registers again. Where hard links
 * are not supported, every process always touches the files.
 */
import { linkSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { makeFile } from "./wake-files.ts";

const SHARED_FILE = "listeners";
const LINK_PATTERN = /^listeners\.(?<pid>\d+)\.\d+$/;

/** How long a positive answer is cached, so that not every wake-up needs a stat. */
const PRESENCE_CACHE_MS = 1_000;

/** The registration of one open store as a listener. */
export class Presence {
  readonly #folder: string;
  readonly #common: string;
  readonly #mode: number;
  /** The own link, named after the process and the store's unique number. */
  readonly #ownName: string;
  readonly #own: string;
  #signedIn = false;
  #swept = false;
  #believedUntil = 0;

  constructor(
    folder: string,
    { number, mode }: { readonly number: number; readonly mode: number },
  ) {
    this.#folder = folder;
    this.#mode = mode;
    this.#common = `${folder}/${SHARED_FILE}`;
    this.#ownName = `${SHARED_FILE}.${process.pid}.${number}`;
    this.#own = `${folder}/${this.#ownName}`;
  }

  /** Returns whether other processes listen; true if that cannot be determined. */
  othersListen(): boolean {
    const now = performance.now();
    if (now < this.#believedUntil) return true;
    const others = this.#countOthers() > 0;
    if (others) this.#believedUntil = now + PRESENCE_CACHE_MS;
    return others;
  }

  /** Registers this store, so that others touch its files from now on. Throws if that is not possible. */
  signIn(): void {
    if (this.#isLinked()) return;
    this.#signedIn = false;
    makeFile(this.#common, this.#mode);
    rmSync(this.#own, { force: true }); // It may link to a shared file that was deleted.
    this.#link();
    this.#sweepOnce();
  }

  /** Removes the registration. Never throws. */
  signOut(): void {
    if (!this.#signedIn) return;
    this.#signedIn = false;
    try {
      rmSync(this.#own, { force: true });
    } catch {
      // The next process that registers detects that this one has ended.
    }
  }

  /** Returns whether a change of this file means that the store has to register again. */
  isLostWith(name: string): boolean {
    if (name !== SHARED_FILE && name !== this.#ownName) return false;
    this.#signedIn = this.#isLinked();
    return !this.#signedIn;
  }

  /** Counts through the own link, which is gone if the folder is. A count other than two means others. */
  #countOthers(): number {
    try {
      const own = this.#signedIn && statSync(this.#own, { throwIfNoEntry: false });
      if (own) return own.nlink === 2 ? own.size : 1;
      this.#signedIn = false;
      const common = statSync(this.#common, { throwIfNoEntry: false });
      return common === undefined ? 0 : common.nlink - 1 + common.size;
    } catch {
      return 1;
    }
  }

  /** Creates the link. Content in the shared file marks listeners that cannot be counted. */
  #link(): void {
    try {
      linkSync(this.#common, this.#own);
      this.#signedIn = true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") throw error; // Deleted meanwhile.
      writeFileSync(this.#common, "Hard links are not supported here.\n");
    }
  }

  #isLinked(): boolean {
    try {
      const own = statSync(this.#own, { throwIfNoEntry: false });
      return own !== undefined && own.ino === statSync(this.#common).ino;
    } catch {
      return false;
    }
  }

  /** Deletes the links of processes that have ended; once per store. */
  #sweepOnce(): void {
    if (this.#swept) return;
    this.#swept = true;
    for (const name of readdirSync(this.#folder)) {
      const pid = LINK_PATTERN.exec(name)?.groups?.["pid"];
      if (pid !== undefined && !isAlive(Number(pid))) {
        rmSync(`${this.#folder}/${name}`, { force: true });
      }
    }
  }
}

/** Returns whether a process exists, including one that this process may not signal. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
