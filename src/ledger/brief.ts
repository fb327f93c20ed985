/**
 * A brief that is too long to travel: the whole of it is stored as a record first, and the handoff has
 * its beginning, says so, and names the record. Nothing of what was wanted is cut away. The same brief
 * again is the same record.
 */

import { FORMAT_LIMITS } from "../base/limits.ts";
import type { CheckedDraft, Envelope } from "../envelope/schema.ts";
import { withoutQuarantined } from "../memory/quarantine/quarantine-mark.ts";
import { recentRecords } from "../memory/read.ts";
import { type Author, type Memory, memoryOf } from "../memory/record.ts";
import { remember } from "../memory/remember.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { LedgerIntent } from "./ledger.ts";

/** The type of such a record. */
const BRIEF = "brief";

/** An intent as it travels, and the record that has all of it. */
export interface IntentWithBrief {
  readonly intent: string;
  readonly brief?: string;
  /** The records of this and of what was wanted in the first place, pinned. */
  readonly refs: Envelope["refs"];
}

export async function storeLongIntent(
  workspace: Workspace,
  sender: Author,
  { draft, task }: { readonly draft: Pick<CheckedDraft, "intent" | "run">; readonly task: string },
  intents: readonly LedgerIntent[],
): Promise<IntentWithBrief> {
  const isLong = draft.intent.length > FORMAT_LIMITS.intentLength;
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
  const said = intents.find(({ brief }) => brief === whole.id)?.intent;
  const others = known.filter(({ id }) => id !== whole.id);
  return {
    intent: said ?? beginningOf(draft.intent, whole.id),
    brief: whole.id,
    refs: refsOf([whole, ...others]),
  };
}

const refsOf = (memories: readonly Memory[]): Envelope["refs"] =>
  memories.map(({ id, digest }) => ({ digest, id }));

/** Those that can be shown: one that was quarantined goes no further. */
async function readBriefs(
  workspace: Workspace,
  ids: readonly string[],
): Promise<readonly Memory[]> {
  if (ids.length === 0) return [];
  const rows = await workspace.store.readMemories(workspace.name, [...new Set(ids)]);
  return withoutQuarantined(workspace, rows.map(memoryOf));
}

/** Stored for a handoff that was refused then. */
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

/** Where a sentence ends, and where a word does: the last before the end counts. */
const SENTENCE_END = /[.!?。！？](?=\s|$)|\n/gu;
const WORD_END = /\s/gu;
/** Cut at a sentence only where that leaves so much of it. */
const MIN_CUT_SHARE = 0.6;

/** As much as travels, to the end of a sentence or at least of a word, and where the rest is. */
export function beginningOf(text: string, record: string): string {
  const mark = `\n[The beginning of ${text.length} characters; the whole brief is ${record}.]`;
  const most = FORMAT_LIMITS.intentLength - mark.length;
  const room = text.slice(0, most);
  const end =
    lastEnd(room, SENTENCE_END, most * MIN_CUT_SHARE) ??
    lastEnd(room, WORD_END, most * MIN_CUT_SHARE) ??
    (isHighSurrogate(room.charCodeAt(most - 1)) ? most - 1 : most);
  return `${room.slice(0, end).trimEnd()}${mark}`;
}

function lastEnd(text: string, ends: RegExp, least: number): number | undefined {
  const last = [...text.matchAll(ends)].at(-1);
  const end = last && last.index + last[0].length;
  return end !== undefined && end >= least ? end : undefined;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
