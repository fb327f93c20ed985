/**
 * Stores an intent that is too long for an envelope as a memory of type `brief`. The handoff then has the
 * beginning of the text, a note that it is cut, and the id of the memory, so nothing of the intent is lost.
 * The same text is stored only once per task.
 */

import { FORMAT_LIMITS } from "../base/limits.ts";
import type { CheckedDraft, Envelope } from "../envelope/schema.ts";
import { withoutQuarantined } from "../memory/quarantine/quarantine-mark.ts";
import { recentRecords } from "../memory/read.ts";
import { type Author, type Memory, memoryOf } from "../memory/record.ts";
import { remember } from "../memory/remember.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { LedgerIntent } from "./ledger.ts";

/** The memory type of a brief. */
const BRIEF = "brief";

/** An intent as the envelope carries it, and the memory with the full text. */
export interface IntentWithBrief {
  readonly intent: string;
  /** The memory id of the full text; absent if no brief belongs to the intent. */
  readonly brief?: string;
  /** The briefs of this intent and of the original intents, with their digests. */
  readonly refs: Envelope["refs"];
}

/**
 * Shortens an intent longer than `FORMAT_LIMITS.intentLength` and stores the full text, unless it is stored
 * already. Returns a shorter intent unchanged, with the briefs of the task's original intents.
 */
export async function storeLongIntent(
  workspace: Workspace,
  sender: Author,
  { draft, task }: { readonly draft: Pick<CheckedDraft, "intent" | "run">; readonly task: string },
  intents: readonly LedgerIntent[],
): Promise<IntentWithBrief> {
  const isLong = isLongIntent(draft);
  const named = intents.flatMap(({ brief }) => brief ?? []);
  if (!isLong && named.length === 0) return { intent: draft.intent, refs: [] };
  const known = await readBriefs(workspace, named);
  if (!isLong) {
    const own = intents.find(({ intent }) => intent === draft.intent)?.brief ?? named.at(-1);
    const brief = known.find(({ id }) => id === own)?.id;
    return { intent: draft.intent, ...(brief && { brief }), refs: refsOf(known) };
  }
  const whole =
    known.find(({ content }) => content === draft.intent) ??
    (await findStoredBrief(workspace, task, draft.intent)) ??
    (await store(workspace, sender, { task, run: draft.run, content: draft.intent }));
  const stated = intents.find(({ brief }) => brief === whole.id)?.intent;
  const others = known.filter(({ id }) => id !== whole.id);
  return {
    intent: stated ?? beginningOf(draft.intent, whole.id),
    brief: whole.id,
    refs: refsOf([whole, ...others]),
  };
}

/** Returns whether an intent is too long for an envelope. */
export const isLongIntent = ({ intent }: Pick<CheckedDraft, "intent">): boolean =>
  intent.length > FORMAT_LIMITS.intentLength;

const refsOf = (memories: readonly Memory[]): Envelope["refs"] =>
  memories.map(({ id, digest }) => ({ digest, id }));

/** Reads the briefs that may be shown; quarantined ones are left out. */
async function readBriefs(
  workspace: Workspace,
  ids: readonly string[],
): Promise<readonly Memory[]> {
  if (ids.length === 0) return [];
  const rows = await workspace.store.readMemories(workspace.name, [...new Set(ids)]);
  return withoutQuarantined(workspace, rows.map(memoryOf));
}

/** Finds a brief that was stored for a handoff which was refused afterwards. */
async function findStoredBrief(
  workspace: Workspace,
  task: string,
  content: string,
): Promise<Memory | undefined> {
  const recent = await recentRecords(workspace, { task, type: BRIEF, limit: 1 });
  return recent.items.find((memory) => memory.content === content);
}

async function store(
  workspace: Workspace,
  sender: Author,
  { task, run, content }: { task: string; run: string | undefined; content: string },
): Promise<Memory> {
  const input = { type: BRIEF, task, content, importance: 0.9, ...(run && { run }) };
  const [memory] = await remember(workspace, sender, [input]);
  return memory as Memory;
}

/** The ends of sentences and of words; the text is cut at the last match. */
const SENTENCE_END = /[.!?。！？](?=\s|$)|\n/gu;
const WORD_END = /\s/gu;
/** The smallest share of the available length that a cut at a sentence or word may leave. */
const MIN_CUT_SHARE = 0.6;

/** Cuts the text at the end of a sentence, or at least of a word, and appends where the full text is. */
export function beginningOf(text: string, record: string): string {
  const mark = `\n[The first part of ${text.length} characters; the full brief is ${record}.]`;
  const most = FORMAT_LIMITS.intentLength - mark.length;
  const fitting = text.slice(0, most);
  const end =
    lastEnd(fitting, SENTENCE_END, most * MIN_CUT_SHARE) ??
    lastEnd(fitting, WORD_END, most * MIN_CUT_SHARE) ??
    (isHighSurrogate(fitting.charCodeAt(most - 1)) ? most - 1 : most);
  return `${fitting.slice(0, end).trimEnd()}${mark}`;
}

function lastEnd(text: string, ends: RegExp, least: number): number | undefined {
  const last = [...text.matchAll(ends)].at(-1);
  const end = last && last.index + last[0].length;
  return end !== undefined && end >= least ? end : undefined;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
