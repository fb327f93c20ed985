/**
 * The last known head: a small file beside the store (`hub.db.head`) with the newest record and event that
 * were acknowledged. SQLite drops a damaged end of its log without an error, and what is left verifies; only
 * a copy outside the log shows that acknowledged writes are gone.
 *
 * One head is enough for all workspaces, because the log loses commits from its end. The file is written
 * after the commit and not synced, so it is never ahead of what was acknowledged; it may be up to
 * `WRITE_INTERVAL_MS` behind when a process is killed. A store that lacks what the file names keeps the file
 * as it is, so that later writes do not hide the loss.
 */
import { closeSync, constants, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import type { Problem } from "../verify-report.ts";

/** The newest acknowledged record, by its chain, and the newest event; 0 and empty if there is none. */
export interface KnownHead {
  /** Key of the chain in the `chains` table. */
  readonly chain: number;
  readonly seq: number;
  readonly link: string;
  readonly event: number;
}

/** Writing costs 5 µs, which would be noticed after every commit. */
const WRITE_INTERVAL_MS = 50;
/** Longer than any head, so that a shorter one overwrites a longer one. */
const FILE_BYTES = 256;

const NO_HEAD: KnownHead = { chain: 0, seq: 0, link: "", event: 0 };

const headPath = (file: string): string => `${file}.head`;

/** Deletes the head of a store that is replaced or created. */
export function forgetHead(file: string): void {
  rmSync(headPath(file), { force: true });
}

/** Keeps the file of an open store up to date. Never throws: it only serves a later check. */
export class KnownHeadFile {
  readonly #path: string;
  readonly #isKept: boolean;
  #file: number | undefined;
  #pending: KnownHead | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #known: KnownHead;

  /** Compares the store with the file. If the store lacks something, a process warning reports it. */
  constructor(db: DatabaseSync) {
    const file = db.location() ?? "";
    this.#path = headPath(file);
    this.#known = readHead(file) ?? NO_HEAD;
    const [lost] = checkKnownHead(db);
    this.#isKept = lost !== undefined;
    if (lost !== undefined) warn(file, lost.message);
  }

  /** Notes what a commit has acknowledged. */
  note(newest: Partial<KnownHead>): void {
    if (this.#isKept) return;
    this.#known = { ...this.#known, ...newest };
    this.#pending = this.#known;
    if (this.#timer !== undefined) return;
    const wait = this.#writtenAt + WRITE_INTERVAL_MS - performance.now();
    if (wait <= 0) this.#write();
    else this.#timer = setTimeout(() => this.#write(), wait).unref();
  }

  close(): void {
    if (this.#pending !== undefined) this.#write();
    clearTimeout(this.#timer);
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #write(): void {
    this.#timer = undefined;
    this.#writtenAt = performance.now();
    const text = JSON.stringify(this.#pending);
    this.#pending = undefined;
    try {
      this.#file ??= openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
      writeSync(this.#file, `${crc32(text)} ${text}`.padEnd(FILE_BYTES), 0);
    } catch {
      // A full or read-only disk: the store itself reports that.
    }
  }
}

/** Returns the head in the file; undefined if there is none, or if it was only partly written. */
function readHead(file: string): KnownHead | undefined {
  try {
    const content = readFileSync(headPath(file), "utf8").trimEnd();
    const space = content.indexOf(" ");
    const [sum, text] = [content.slice(0, space), content.slice(space + 1)];
    return Number(sum) === crc32(text) ? (JSON.parse(text) as KnownHead) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a problem if the store lacks the last known record or event. */
export function checkKnownHead(db: DatabaseSync): Problem[] {
  const file = db.location() ?? "";
  const known = readHead(file);
  if (known === undefined || lackOf(db, known) === undefined) return [];
  // The snapshot of this connection can be older than the file, which another connection has written since.
  const newest = new DatabaseSync(file, { readOnly: true });
  try {
    const message = lackOf(newest, known);
    return message === undefined ? [] : [{ record: "file", field: "log", message }];
  } finally {
    newest.close();
  }
}

/** Returns what the connection lacks of the head; undefined if it has all of it. */
function lackOf(db: DatabaseSync, known: KnownHead): string | undefined {
  const { seq = 0 } = db.prepare("select seq from chains where key = ?").get(known.chain) ?? {};
  const { link } =
    db
      .prepare("select link from memories where chain = ? and seq = ?")
      .get(known.chain, known.seq) ?? {};
  const { event } =
    db.prepare("select coalesce(max(last), 0) as event from event_groups").get() ?? {};
  const hasRecord = Number(seq) >= known.seq && (link ?? known.link) === known.link;
  if (hasRecord && Number(event) >= known.event) return undefined;
  return (
    `acknowledged writes are missing: the last known record is number ${known.seq} of its branch, which now has ${seq}, ` +
    `and the last known event is ${known.event}, the newest one now ${event}`
  );
}

function warn(file: string, message: string): void {
  process.emitWarning(
    `${file}: ${message}. The end of its log was damaged or removed, or an older copy was put in its place. ` +
      `Restore a backup; to continue with what is left, delete ${headPath(file)}.`,
    { type: "BatonWarning", code: "BATON_WRITES_LOST" },
  );
}
