/**
 * Stores which handoff first asked for a piece of work, to detect the same intent sent twice: an entry named
 * by the digest of the intent. The entry does not contain the intent, but a guess could be checked against
 * it, so it is deleted when the envelope is redacted.
 */
import { sha256 } from "../base/digest.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** The kind of entry. */
export const WORK = "work";

/** The first handoff with an intent. */
export interface FirstHandoff {
  readonly delivery: string;
  readonly task: string;
}

/** Intents are compared by letters and digits only. Most are ASCII, for which this takes half the time. */
const BETWEEN_WORDS = /[^\p{L}\p{M}\p{N}]+/gu;
const BETWEEN_ASCII_WORDS = /[^a-z0-9]+/g;
const ASCII = /^[\0-\x7f]*$/;
/** The compared characters; for an intent too long for an envelope, its beginning. */
const COMPARED = FORMAT_LIMITS.lineLength;
/** Hex digits, 128 bits: a collision of two intents by chance is negligible. */
const NAME_LENGTH = 32;

/** Returns the entry name of an intent; undefined if the intent has no words. */
export function workName(intent: string): string | undefined {
  const text = intent.slice(0, COMPARED);
  const words = ASCII.test(text)
    ? text.toLowerCase().replace(BETWEEN_ASCII_WORDS, " ").trim()
    : text.normalize("NFKC").toLowerCase().replace(BETWEEN_WORDS, " ").trim();
  return words === "" ? undefined : sha256(words).slice(0, NAME_LENGTH);
}

/** Deletes the entry of an intent, if there is one. */
export async function deleteWorkEntry({ store, name }: Workspace, intent: string): Promise<void> {
  const work = workName(intent);
  const entry = work === undefined ? undefined : await store.findEntry(name, WORK, work);
  if (entry === undefined) return;
  const { kind, revision: basedOn } = entry;
  await store.putEntry(name, { kind, name: entry.name, value: undefined, basedOn });
}
