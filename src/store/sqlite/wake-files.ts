/**
 * The files that stand for agents in the folder of bells: named by a hash, empty, made by the first
 * who listens for the agent, touched by whoever has committed something that concerns it.
 *
 * Touched by path: a file kept open would save 3 µs, needs a bounded cache of handles, and once the
 * folder was removed and made anew it would ring what is gone. By its times rather than by a byte
 * written into it: macOS and Windows announce a byte only when the file is closed. The time of
 * access says who rang last; each open store has a number of its own for that.
 */
import { closeSync, existsSync, mkdirSync, openSync, statSync, utimesSync } from "node:fs";
import { sha256 } from "../../base/digest.ts";
import type { WakeTarget } from "../store.ts";

/** Agents whose file is remembered: finding its name takes as long as touching it. */
const MAX_CACHED_FILES = 1_000;

interface WakeFile {
  readonly path: string;
  /** Whether it was there when last asked for. */
  hung: boolean;
}

export class WakeFiles {
  readonly #folder: string;
  readonly #ringer: number;
  /** By workspace, then agent. */
  readonly #known = new Map<string, Map<string, WakeFile>>();
  #count = 0;

  constructor(folder: string, ringer: number) {
    this.#folder = folder;
    this.#ringer = ringer;
  }

  static nameOf({ workspace, agent }: WakeTarget): string {
    return sha256(JSON.stringify([workspace, agent])).slice(0, 32);
  }

  /** Nothing, where nobody has ever listened for the agent. */
  touch(whom: WakeTarget): void {
    const bell = this.#find(whom);
    try {
      bell.hung ||= existsSync(bell.path);
      if (bell.hung) utimesSync(bell.path, this.#ringer, Date.now() / 1_000);
    } catch {
      // Gone this moment, or not ours to touch. What was committed stands; the next look finds it.
      bell.hung = false;
    }
  }

  /** True when it was not there. Throws when it cannot be had. */
  make(whom: WakeTarget): boolean {
    const { path } = this.#find(whom);
    if (existsSync(path)) return false;
    makeFile(path);
    this.touch(whom); // Made by us: no reason to call us.
    return true;
  }

  lastRung(whom: WakeTarget): "by us" | "by others" | "gone" {
    try {
      const stats = statSync(this.#find(whom).path, { throwIfNoEntry: false });
      if (stats === undefined) return "gone";
      return stats.atimeMs === this.#ringer * 1_000 ? "by us" : "by others";
    } catch {
      return "by others"; // Better called in vain than not at all.
    }
  }

  #find(whom: WakeTarget): WakeFile {
    const known = this.#known.get(whom.workspace)?.get(whom.agent);
    if (known !== undefined) return known;
    if (this.#count === MAX_CACHED_FILES) {
      this.#known.clear();
      this.#count = 0;
    }
    const bell = { path: `${this.#folder}/${WakeFiles.nameOf(whom)}`, hung: false };
    const agents = this.#known.get(whom.workspace) ?? new Map<string, WakeFile>();
    this.#known.set(whom.workspace, agents.set(whom.agent, bell));
    this.#count++;
    return bell;
  }
}

/** Not the folders above it: a store that was removed does not come back for its bells. */
export function makeFolder(path: string): void {
  if (!existsSync(path)) ignoreExisting(() => mkdirSync(path));
}

export function makeFile(path: string): void {
  if (!existsSync(path)) ignoreExisting(() => closeSync(openSync(path, "wx")));
}

function ignoreExisting(make: () => void): void {
  try {
    make();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
