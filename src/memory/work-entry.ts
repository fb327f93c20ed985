/**
 * What is stored of a piece of work: an entry named by the digest of its intent, with the handoff that
 * asked for it first. It says nothing of the intent itself, but lets a guess be checked: when an
 * envelope is redacted, the entry of its intent is deleted.
 */
import { sha256 } from "../base/digest.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** The kind of entry. */
export const WORK = "work";

/** The handoff that stands for a piece of work. */
export interface FirstHandoff {
  readonly delivery: string;
  readonly task: string;
}

/** One intent in two wordings has the same letters and digits. Most are ASCII, and take half the time as such. */
const BETWEEN_WORDS = /[^\p{L}\p{M}\p{N}]+/gu;
const BETWEEN_ASCII_WORDS = /[^a-z0-9]+/g;
const ASCII = /^[\0-\x7f]*$/;
/** Also the beginning of an intent that is too long to travel. */
const COMPARED = FORMAT_LIMITS.lineLength;
/** 128 bits: no two intents meet by chance. */
const NAME_LENGTH = 32;

/** The name of a piece of work; undefined when its intent has no words. */
export function workName(intent: string): string | undefined {
  const text = intent.slice(0, COMPARED);
  const words = ASCII.test(text)
    ? text.toLowerCase().replace(BETWEEN_ASCII_WORDS, " ").trim()
    : text.normalize("NFKC").toLowerCase().replace(BETWEEN_WORDS, " ").trim();
  return words === "" ? undefined : sha256(words).slice(0, NAME_LENGTH);
}

export async function deleteWorkEntry({ store, name }: Workspace, intent: string): Promise<void> {
  const work = workName(intent);
  const entry = work === undefined ? undefined : await store.findEntry(name, WORK, work);
  if (entry === undefined) return;
  const { kind, revision: basedOn } = entry;
  await store.putEntry(name, { kind, name: entry.name, value: undefined, basedOn });
}
