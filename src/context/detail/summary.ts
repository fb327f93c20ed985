/**
 * The summary of a record: the sender's own first, then one that somebody stored, else the record's own
 * sentences, or a model's words where the hub has one. What a model says is kept as a memory of type
 * `summary` that summarizes the record, and found again instead of asked for twice. A model that fails,
 * says nothing or too much changes nothing: then it is the record's own sentences, and why is told.
 */

import { BatonError } from "../../base/errors.ts";
import { findSecrets } from "../../envelope/secrets.ts";
import { type Memory, type MemoryInput, memoryOf } from "../../memory/record.ts";
import { remember } from "../../memory/remember.ts";
import { systemAuthor } from "../../memory/system-author.ts";
import { visibilityOf } from "../../memory/visibility.ts";
import { isTeamScoped } from "../../store/visibility.ts";
import { extract } from "../../text/extract.ts";
import { tokenCounter } from "../../text/tokens.ts";
import type { Summarizer, Workspace } from "../../workspace/workspace.ts";

export interface Summary {
  readonly text: string;
  /** Whose words: all of a short record, the sender's, a stored summary's, a model's, some of its own. */
  readonly by: "record" | "sender" | "summary" | "model" | "extract";
  /** The record that holds it. */
  readonly memory?: string;
  /** Why it is not a model's, though there is one; or why a model's was not kept. */
  readonly why?: string;
}

export interface SummaryOptions {
  /** What the sender of a handoff said about it. */
  readonly sent?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A summary of at most so many tokens. */
export async function summaryOf(
  workspace: Workspace,
  memory: Memory,
  tokens: number,
  options: SummaryOptions = {},
): Promise<Summary> {
  const count = await tokenCounter();
  if (options.sent !== undefined)
    return { text: extractWithin(options.sent, tokens, count), by: "sender" };
  if (memory.redacted !== undefined) return { text: "", by: "record" };
  if (count(memory.content) <= tokens) return { text: memory.content, by: "record" };
  const stored = await storedSummary(workspace, memory);
  if (stored !== undefined) {
    return { text: extractWithin(stored.content, tokens, count), by: "summary", memory: stored.id };
  }
  const own: Summary = { text: extractWithin(memory.content, tokens, count), by: "extract" };
  const { summarizer } = workspace;
  if (summarizer === undefined || memory.quarantined !== undefined) return own;
  if (!isTeamScoped(memory)) return { ...own, why: "it is private, and goes to no model" };
  if (findSecrets(memory.content).length > 0) return { ...own, why: "it seems to hold a secret" };
  const made = await sharePendingSummary(workspace, memory, async () => {
    const said = await summarizeWithModel(summarizer, memory.content, {
      tokens,
      signal: options.signal,
      count,
    });
    if (said.text === undefined) return said;
    return { ...said, ...(await storeSummary(workspace, memory, said.text)) };
  });
  if (made.text === undefined) return { ...own, why: made.why };
  return { by: "model", ...made, text: extractWithin(made.text, tokens, count) };
}

type Count = (text: string) => number;

/** A text's own sentences, as many as fit. */
function extractWithin(text: string, tokens: number, count: Count): string {
  let most = Math.min(text.length, tokens * 6);
  for (;;) {
    const shorter = extract(text, most);
    const taken = count(shorter);
    if (taken <= tokens || most <= 1) return shorter;
    most = Math.max(1, Math.min(most - 1, Math.floor((most * tokens) / taken)));
  }
}

/** More than anybody hands one record on by. */
const MAX_EDGES = 1_000;

/** The newest summary of this record, and of no other, that is seen. */
async function storedSummary(workspace: Workspace, { id }: Memory): Promise<Memory | undefined> {
  const { store, name } = workspace;
  const edges = await store.findRelations({
    workspace: name,
    memory: id,
    direction: "in",
    kinds: ["summarizes"],
    sight: await visibilityOf(workspace),
    limit: MAX_EDGES,
  });
  if (edges.length === 0) return undefined;
  const sources = [...new Set(edges.map(({ source }) => source))];
  const records = (await store.readMemories(name, sources)).map(memoryOf);
  return records.filter(isSummary).at(-1);
}

function isSummary({ type, relations = [], redacted }: Memory): boolean {
  const summarized = relations.filter(({ kind }) => kind === "summarizes");
  return type === "summary" && summarized.length === 1 && redacted === undefined;
}

interface ModelSummaryOptions {
  readonly tokens: number;
  readonly signal: AbortSignal | undefined;
  readonly count: Count;
}

/** What the model says, or why that is no summary. */
type ModelSummary =
  | { readonly text: string; readonly memory?: string; readonly why?: string }
  | { readonly text: undefined; readonly why: string };

async function summarizeWithModel(
  summarizer: Summarizer,
  text: string,
  { tokens, signal, count }: ModelSummaryOptions,
): Promise<ModelSummary> {
  const { model } = summarizer;
  const failed = (why: string): ModelSummary => ({ text: undefined, why });
  let said: unknown;
  try {
    said = await summarizer.summarize(text, { tokens, signal });
  } catch (error) {
    signal?.throwIfAborted();
    return failed(error instanceof Error ? error.message : `${model} failed`);
  }
  if (typeof said !== "string" || said.trim() === "") return failed(`${model} said nothing`);
  const summary = said.trim();
  if (count(summary) > tokens || summary.length >= text.length) {
    return failed(`${model} said more than it was asked for`);
  }
  return { text: summary };
}

const pendingSummaries = new WeakMap<object, Map<string, Promise<ModelSummary>>>();

/** Who asks for the same at the same time waits for the same answer. */
function sharePendingSummary(
  { root }: Workspace,
  { id }: Memory,
  ask: () => Promise<ModelSummary>,
): Promise<ModelSummary> {
  const pending = pendingSummaries.get(root) ?? new Map<string, Promise<ModelSummary>>();
  pendingSummaries.set(root, pending);
  const before = pending.get(id);
  if (before !== undefined) return before;
  const asked = ask().finally(() => pending.delete(id));
  pending.set(id, asked);
  return asked;
}

/** Keeps a model's summary, in the hub's own name, since nobody of the team said it. */
async function storeSummary(
  workspace: Workspace,
  { id, digest, task }: Memory,
  content: string,
): Promise<Pick<Summary, "memory" | "why">> {
  const { model } = workspace.summarizer as Summarizer;
  const input: MemoryInput = {
    type: "summary",
    content,
    data: { digest, model },
    importance: 0.2,
    relations: [{ kind: "summarizes", to: id }],
    ...(task === undefined ? {} : { task }),
  };
  try {
    const [record] = await remember(workspace, await systemAuthor(workspace), [input]);
    return record === undefined ? {} : { memory: record.id };
  } catch (error) {
    // It is shown all the same: a store that takes nothing now (a closed branch) is read on.
    if (!(error instanceof BatonError)) throw error;
    return { why: `it was not kept: ${error.message}` };
  }
}
