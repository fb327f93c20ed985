/**
 * Removes the remains of redacted bodies from the file, in the housekeeper's thread. The bodies are already
 * overwritten in their pages. Here the log, which still contains the old pages, is truncated. Then the file
 * is searched byte by byte; if something is left in space that was freed long before, the whole file is
 * rewritten.
 */
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { isBusy } from "../failures.ts";
import { fileContainsAny } from "../file-search.ts";
import { type MergeResult, mergeLog } from "../merge-log.ts";

/** How long to wait for others to release the log; after that it is reported instead. */
const MAX_WAIT_MS = 5_000;
const PAUSE_MS = 25;

/** What the store cannot erase, reported after every scrub. */
const OUT_OF_REACH = [
  "The disk below the file: snapshots, journals, and spare blocks of a solid-state drive.",
  "Processes that have searched this store, until they search again or end: they still have the old index open.",
] as const;

/** Returns the places that may still contain erased text, as text for people. */
export async function scrub(
  db: DatabaseSync,
  file: string,
  forms: readonly string[],
): Promise<readonly string[]> {
  const beyond = await cutLog(db);
  if (beyond.length > 0 || !(await mayContain(file, forms))) return [...beyond, ...OUT_OF_REACH];
  const failed = await vacuumFile(db);
  return [...failed, ...(await cutLog(db)), ...OUT_OF_REACH];
}

/**
 * Assumes that the file contains the texts if it cannot be searched (for example, if no process can be
 * started).
 */
const mayContain = (file: string, forms: readonly string[]): Promise<boolean> =>
  fileContainsAny({ file, forms }).catch(() => true);

async function cutLog(db: DatabaseSync): Promise<readonly string[]> {
  let result: MergeResult = "busy";
  await retryUntilTimeout(() => {
    result = mergeLog(db, "truncate");
    return result !== "busy";
  });
  return LEFT_IN_LOG[result];
}

const LEFT_IN_LOG: Readonly<Record<MergeResult, readonly string[]>> = {
  merged: [],
  busy: ["The store's log: another process reads from it; redact again when it is done."],
  stopped: [
    "The store's log: it is kept because the disk failed; redact again after every process that uses the store was restarted.",
  ],
};

async function vacuumFile(db: DatabaseSync): Promise<readonly string[]> {
  const done = await retryUntilTimeout(() => {
    db.exec("vacuum");
    return true;
  });
  return done ? [] : ["Free space in the store's file: other processes keep it locked."];
}

/** Returns false if it did not succeed in time. Does not block others meanwhile. */
async function retryUntilTimeout(attempt: () => boolean): Promise<boolean> {
  const giveUpAt = performance.now() + MAX_WAIT_MS;
  for (;;) {
    try {
      if (attempt()) return true;
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
    if (performance.now() > giveUpAt) return false;
    await sleep(PAUSE_MS);
  }
}
