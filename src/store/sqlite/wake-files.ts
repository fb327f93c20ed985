/**
 * The files in the wake-up folder, one per agent (its bell): empty, named by a hash, with the permissions of
 * the store, created by the first listener for the agent and touched by every process that commits something
 * that concerns it.
 *
 * They are touched by path. A file kept open would save 3 µs, but needs a bounded cache of handles, and after
 * the folder was deleted and created again it would touch a deleted file. The times are changed instead of
 * writing a byte, because macOS and Windows report a written byte only when the file is closed. The access
 * time states which store touched the file last; each open store has a unique number for that.
 */
import { closeSync, existsSync, mkdirSync, openSync, statSync, utimesSync } from "node:fs";
import { sha256 } from "../../base/digest.ts";
import { folderMode } from "../../base/files/private-file.ts";
import type { WakeTarget } from "../store.ts";

/** How many agents' paths are cached: computing a name takes as long as touching the file. */
const MAX_CACHED_FILES = 1_000;

interface WakeFile {
  readonly path: string;
  /** Whether it existed at the last check. */
  hung: boolean;
}

/** Creates, touches and checks the wake-up files of one open store. */
export class WakeFiles {
  readonly #folder: string;
  readonly #ringer: number;
  readonly #mode: number;
  /** By workspace, then agent. */
  readonly #known = new Map<string, Map<string, WakeFile>>();
  #count = 0;

  constructor(
    folder: string,
    { ringer, mode }: { readonly ringer: number; readonly mode: number },
  ) {
    this.#folder = folder;
    this.#ringer = ringer;
    this.#mode = mode;
  }

  /** Returns the file name of an agent. */
  static nameOf({ workspace, agent }: WakeTarget): string {
    return sha256(JSON.stringify([workspace, agent])).slice(0, 32);
  }

  /** Touches the file of an agent; does nothing if no process has ever listened for it. Never throws. */
  touch(whom: WakeTarget): void {
    const wakeFile = this.#find(whom);
    try {
      wakeFile.hung ||= existsSync(wakeFile.path);
      if (wakeFile.hung) utimesSync(wakeFile.path, this.#ringer, Date.now() / 1_000);
    } catch {
      // Just deleted, or no permission. The commit stands; the next poll finds it.
      wakeFile.hung = false;
    }
  }

  /** Creates the file of an agent. Returns false if it exists already. Throws if it cannot be created. */
  make(whom: WakeTarget): boolean {
    const { path } = this.#find(whom);
    if (existsSync(path)) return false;
    makeFile(path, this.#mode);
    this.touch(whom); // Created by this store: no reason to wake its listeners.
    return true;
  }

  /** Returns which store touched the file last; "gone" if it does not exist. */
  lastRung(whom: WakeTarget): "by us" | "by others" | "gone" {
    try {
      const stats = statSync(this.#find(whom).path, { throwIfNoEntry: false });
      if (stats === undefined) return "gone";
      return stats.atimeMs === this.#ringer * 1_000 ? "by us" : "by others";
    } catch {
      return "by others"; // A needless wake-up is better than a missed one.
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

/**
 * Creates the folder, but not its parents: a deleted store must not come back because of its wake-up files.
 */
export function makeFolder(path: string, fileMode: number): void {
  if (!existsSync(path)) ignoreExisting(() => mkdirSync(path, { mode: folderMode(fileMode) }));
}

/** Creates an empty file if it does not exist. */
export function makeFile(path: string, mode: number): void {
  if (!existsSync(path)) ignoreExisting(() => closeSync(openSync(path, "wx", mode)));
}

function ignoreExisting(make: () => void): void {
  try {
    make();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
