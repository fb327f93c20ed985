/**
 * Records errors of hooks in `hook-trouble.jsonl` next to the store. Harnesses hide the output of hooks, so
 * `baton doctor` reports these errors. An entry contains the time, hook, error code and message, never text
 * of the session.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { BatonError } from "../base/errors.ts";

/** One line of the log. */
export interface HookErrorEntry {
  /** ISO 8601 time. */
  readonly at: string;
  readonly harness: string;
  readonly event: string;
  readonly code: string;
  readonly message: string;
}

/** Above this size the log is renamed to `.1`, which replaces the previous `.1`. */
const MAX_LOG_BYTES = 64 * 1024;

const logFileOf = (store: string): string => join(dirname(store), "hook-trouble.jsonl");

/** Appends an entry. Does nothing without a store or if the file cannot be written: the session continues. */
export function recordHookError(
  store: string,
  trouble: Omit<HookErrorEntry, "at" | "code" | "message">,
  error: unknown,
): void {
  if (!existsSync(dirname(store))) return;
  const code = error instanceof BatonError ? error.code : "bug";
  const line: HookErrorEntry = {
    at: new Date().toISOString(),
    ...trouble,
    code,
    message: oneLineMessage(error),
  };
  try {
    append(logFileOf(store), `${JSON.stringify(line)}\n`);
  } catch (failure) {
    if (!(failure instanceof Error && "syscall" in failure)) throw failure;
  }
}

function append(file: string, line: string): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MAX_LOG_BYTES) {
    renameSync(file, `${file}.1`);
  }
  appendFileSync(file, line, { mode: 0o600 });
}

/** Returns the message of an error on one line. */
export const oneLineMessage = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").trim();

/** Returns the entries, oldest first. Skips incomplete lines, which a killed hook leaves. */
export function readHookErrors(store: string): readonly HookErrorEntry[] {
  const file = logFileOf(store);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as HookErrorEntry];
    } catch (error) {
      if (error instanceof SyntaxError) return [];
      throw error;
    }
  });
}
