/**
 * Hooks that could not do their work. A harness hides what its hooks say, so each trouble is also
 * counted in a small file beside the store, for `baton doctor` to tell of. No text of the session is in
 * it: only when, which hook, and the error's code and message.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { BatonError } from "../errors.ts";

export interface Trouble {
  readonly at: string;
  readonly harness: string;
  readonly event: string;
  readonly code: string;
  readonly message: string;
}

/** Then a new file is begun, and the one before the last goes. */
const MOST_BYTES = 64 * 1024;

const fileBeside = (store: string): string => join(dirname(store), "hook-trouble.jsonl");

/** Nothing is counted where there is no store: no folder is made for it. */
export function countTrouble(
  store: string,
  trouble: Omit<Trouble, "at" | "code" | "message">,
  error: unknown,
): void {
  if (!existsSync(dirname(store))) return;
  const file = fileBeside(store);
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MOST_BYTES) {
    renameSync(file, `${file}.1`);
  }
  const code = error instanceof BatonError ? error.code : "bug";
  const line: Trouble = {
    at: new Date().toISOString(),
    ...trouble,
    code,
    message: sentence(error),
  };
  appendFileSync(file, `${JSON.stringify(line)}\n`, { mode: 0o600 });
}

/** On one line. */
export const sentence = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").trim();

/** Oldest first. */
export function troubles(store: string): readonly Trouble[] {
  const file = fileBeside(store);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Trouble);
}
