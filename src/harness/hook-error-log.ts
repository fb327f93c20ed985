/**
 * Hooks that could not do their work. A harness hides what its hooks say, so each trouble is also
 * counted in a small file beside the store, for `baton doctor` to tell of. No text of the session is in
 * it: only when, which hook, and the error's code and message.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { BatonError } from "../base/errors.ts";

export interface HookErrorEntry {
  readonly at: string;
  readonly harness: string;
  readonly event: string;
  readonly code: string;
  readonly message: string;
}

/** Then a new file is begun, and the one before the last goes. */
const MAX_LOG_BYTES = 64 * 1024;

const logFileOf = (store: string): string => join(dirname(store), "hook-trouble.jsonl");

/** Nothing is counted where there is no store, or where nothing can be written: the session goes on. */
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

/** On one line. */
export const oneLineMessage = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").trim();

/** Oldest first. A hook that is killed leaves part of a line: it is passed over. */
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
