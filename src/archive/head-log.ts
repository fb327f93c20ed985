/**
 * Appends heads to a file, one JSON line each: on a schedule, and at the end. The first line of a run has
 * every chain, the others those that have grown. Each line contains the digest of the line before, so that a
 * line that is taken out or changed is noticed.
 *
 * The file proves something only if it is out of reach of those who can write the store: on another machine, on
 * storage that only appends, or copied away.
 */
import type { KeyObject } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { PRIVATE_FILE } from "../base/files/private-file.ts";
import { toFileError } from "../base/files/staged-file.ts";
import { followingHead, parseHeads, signHead, type WorkspaceHead } from "./heads.ts";

/** The longest pause that a timer can have; a longer interval is shortened to it. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What a log of heads writes, and where. */
export interface HeadLogOptions {
  readonly file: string;
  /** Signs each line; default: lines are not signed. */
  readonly key?: string | KeyObject | undefined;
  /** Milliseconds between two lines; default: only `write()` appends. */
  readonly everyMs?: number | undefined;
  /** Called when a line of the schedule could not be written; the next one is still tried. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** A file of heads that is being written. */
export class HeadLog {
  readonly #read: () => Promise<WorkspaceHead>;
  readonly #options: HeadLogOptions;
  readonly #links = new Map<string, string>();
  #previous: string | undefined;
  #isTorn: boolean;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  /** Continues the file if it exists. Throws `file_unusable`, or `invalid_input` if it is not a file of heads. */
  constructor(read: () => Promise<WorkspaceHead>, options: HeadLogOptions) {
    this.#read = read;
    this.#options = options;
    const text = contentOf(options.file);
    this.#isTorn = text !== "" && !text.endsWith("\n");
    this.#previous = text === "" ? undefined : parseHeads(text).at(-1)?.digest;
    this.#schedule();
  }

  /** Appends the head of now, synced, and returns it. */
  write(): Promise<WorkspaceHead> {
    const written = this.#writing.then(() => this.#append());
    this.#writing = written.catch(() => {});
    return written;
  }

  async #append(): Promise<WorkspaceHead> {
    const { file, key } = this.#options;
    const whole = await this.#read();
    const plain = followingHead(whole, this.#previous, this.#links);
    const head = key === undefined ? plain : signHead(plain, key);
    appendSynced(file, `${this.#isTorn ? "\n" : ""}${JSON.stringify(head)}\n`);
    this.#isTorn = false;
    this.#previous = head.digest;
    for (const { branch, link } of head.chains) this.#links.set(branch, link);
    return head;
  }

  #schedule(): void {
    const { everyMs, onError } = this.#options;
    if (everyMs === undefined) return;
    const next = async () => {
      await this.write().catch((error: unknown) => onError?.(error));
      if (this.#timer !== undefined) this.#schedule();
    };
    this.#timer = setTimeout(() => void next(), Math.min(everyMs, MAX_TIMER_MS)).unref();
  }

  /** Appends a last line and ends the schedule. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.write();
  }
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw toFileError(error, file);
  }
}

function appendSynced(file: string, line: string): void {
  try {
    const opened = openSync(file, "a", PRIVATE_FILE);
    try {
      writeSync(opened, line);
      fsyncSync(opened);
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    throw toFileError(error, file);
  }
}
