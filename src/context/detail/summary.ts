/**
 * The summary of a record: the sender's if there is one, then a stored one, then that of a model if the hub
 * has a summarizer, and otherwise an extract of the record's own sentences.
 *
 * A model's summary is stored as a memory of type `summary` that summarizes the record, and reused instead of
 * requested twice. If a model fails or returns nothing or too much, the extract is used, with the reason.
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

/** A summary of a record. */
export interface Summary {
  readonly text: string;
  /**
   * Its source: the whole short record, the sender, a stored summary, a model, or an extract of the record.
   */
  readonly by: "record" | "sender" | "summary" | "model" | "extract";
  /** Id of the record that stores it; absent if it is not stored. */
  readonly memory?: string;
  /** Why a configured model was not used, or why its summary was not stored. */
  readonly why?: string;
}

/** Options of `summaryOf()`. */
export interface SummaryOptions {
  /** The summary by the sender of a handoff. */
  readonly sent?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Returns a summary of at most `tokens` tokens. */
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
  if (!isTeamScoped(memory)) return { ...own, why: "it is private, so it is not sent to a model" };
  if (findSecrets(memory.content).length > 0)
    return { ...own, why: "it seems to contain a secret, so it is not sent to a model" };
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

/** Returns as many of a text's own sentences as fit. */
function extractWithin(text: string, tokens: number, count: Count): string {
  let most = Math.min(text.length, tokens * 6);
  for (;;) {
    const shorter = extract(text, most);
    const taken = count(shorter);
    if (taken <= tokens || most <= 1) return shorter;
    most = Math.max(1, Math.min(most - 1, Math.floor((most * tokens) / taken)));
  }
}

/** Relations read: more than any record has summaries. */
const MAX_EDGES = 1_000;

/** Returns the newest visible summary of exactly this record. */
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

/** The model's summary, or why its reply is not used. */
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
  let answer: unknown;
  try {
    answer = await summarizer.summarize(text, { tokens, signal });
  } catch (error) {
    signal?.throwIfAborted();
    return failed(error instanceof Error ? error.message : `${model} failed`);
  }
  if (typeof answer !== "string" || answer.trim() === "")
    return failed(`${model} returned nothing`);
  const summary = answer.trim();
  if (count(summary) > tokens || summary.length >= text.length) {
    return failed(`${model} returned more than was requested`);
  }
  return { text: summary };
}

const pendingSummaries = new WeakMap<object, Map<string, Promise<ModelSummary>>>();

/** Concurrent requests for the summary of one record share one reply. */
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

/** Stores a model's summary, with the hub as its author, since no agent of the team wrote it. */
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
    // The summary is returned anyway: a failed write (e.g. on a closed branch) must not fail a read.
    if (!(error instanceof BatonError)) throw error;
    return { why: `it was not stored: ${error.message}` };
  }
}
