/**
 * Whether anybody else listens, told by one look. Each open store that has listened keeps a hard
 * link to a common file in the folder of bells until it closes; the file's count of links, less
 * itself and our own, is how many others there are. A program that is alone with its store then
 * neither rings bells nor hears its own, which took a tenth of its handoffs per second.
 *
 * Counting too many costs rings in vain, counting too few would lose some. So a process that was
 * killed counts on, until the next one signs in and takes its link away; one whose link was taken
 * wrongly (seen from another container, its process may seem dead) hears of it by its watch, and
 * signs in again. Where links cannot be made, everybody rings always.
 */
import { linkSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { makeFile } from "./wake-files.ts";

const SHARED_FILE = "listeners";
const LINK_PATTERN = /^listeners\.(?<pid>\d+)\.\d+$/;

/** How long others, once seen, are believed to be there: no look for each ring. */
const PRESENCE_CACHE_MS = 1_000;

export class Presence {
  readonly #folder: string;
  readonly #common: string;
  /** Our own link: named by its process, and a number no other store has. */
  readonly #ownName: string;
  readonly #own: string;
  #signedIn = false;
  #swept = false;
  #believedUntil = 0;

  constructor(folder: string, number: number) {
    this.#folder = folder;
    this.#common = `${folder}/${SHARED_FILE}`;
    this.#ownName = `${SHARED_FILE}.${process.pid}.${number}`;
    this.#own = `${folder}/${this.#ownName}`;
  }

  othersListen(): boolean {
    const now = performance.now();
    if (now < this.#believedUntil) return true;
    const others = this.#countOthers() > 0;
    if (others) this.#believedUntil = now + PRESENCE_CACHE_MS;
    return others;
  }

  /** From here on others ring. Throws when it cannot be had. */
  signIn(): void {
    if (this.#isLinked()) return;
    this.#signedIn = false;
    makeFile(this.#common);
    rmSync(this.#own, { force: true }); // It may be of a common file that is gone.
    this.#link();
    this.#sweepOnce();
  }

  signOut(): void {
    if (!this.#signedIn) return;
    this.#signedIn = false;
    try {
      rmSync(this.#own, { force: true });
    } catch {
      // The next one to sign in finds that this process has ended.
    }
  }

  /** Whether what happened to this file means that we have to sign in again. */
  isLostWith(name: string): boolean {
    if (name !== SHARED_FILE && name !== this.#ownName) return false;
    this.#signedIn = this.#isLinked();
    return !this.#signedIn;
  }

  /** Through our own link, which is gone when the folder is. Anything but two is not just us. */
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

  /** Something written in the common file stands for listeners that cannot be counted. */
  #link(): void {
    try {
      linkSync(this.#common, this.#own);
      this.#signedIn = true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") throw error; // Removed meanwhile.
      writeFileSync(this.#common, "Links cannot be made here.\n");
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

/** One that we may not signal is alive too. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
