/**
 * Scrubbing, in the housekeeper's thread: what was redacted is overwritten in its pages already. Here the
 * log is cut off, which still has the pages as they were; then the file itself is read, byte by byte,
 * and where something is left in space that was freed long before, the whole file is written anew.
 */
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { isBusy } from "../failures.ts";
import { fileContainsAny } from "../file-search.ts";

/** How long others may keep the log in use before that is told instead. */
const MAX_WAIT_MS = 5_000;
const PAUSE_MS = 25;

/** What the files cannot be blamed for. */
const OUT_OF_REACH = [
  "The disk below the file: snapshots, journals, and what a solid-state drive has set aside.",
  "Processes that have searched this store, until they search again or end: the index they had open.",
] as const;

/** What is left to tell. */
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

/** Where nobody can look (no process can be started, say), it is taken for granted. */
const mayContain = (file: string, forms: readonly string[]): Promise<boolean> =>
  fileContainsAny({ file, forms }).catch(() => true);

async function cutLog(db: DatabaseSync): Promise<readonly string[]> {
  const cut = await retryUntilTimeout(() => {
    const [{ busy }] = db.prepare("pragma wal_checkpoint(truncate)").all() as [{ busy: number }];
    return busy === 0;
  });
  return cut
    ? []
    : ["The store's log: another process reads from it. Redact again when it is done."];
}

async function vacuumFile(db: DatabaseSync): Promise<readonly string[]> {
  const done = await retryUntilTimeout(() => {
    db.exec("vacuum");
    return true;
  });
  return done ? [] : ["Free space in the store's file: other processes keep it locked."];
}

/** False when it did not work out in time; others are not kept from working meanwhile. */
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
