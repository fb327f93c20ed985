/** Renders handoffs among recent records: sender, receiver, state, what was done and what is next. */

import { addressOf } from "../../envelope/schema.ts";
import type { Memory } from "../../memory/record.ts";
import { tryParseEnvelope } from "../../store/parse-envelope.ts";
import { fenceAddress, fenceText, quoteText } from "../../text/fence.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** How many handoffs are read; the others are shown as plain records. */
const MAX_HANDOFFS = 10;

/** Returns the text of each handoff among the records, by the id of the record. */
export async function renderRecentHandoffs(
  workspace: Workspace,
  memories: readonly Memory[],
): Promise<ReadonlyMap<string, string>> {
  const handoffs = memories.filter(({ envelope }) => envelope !== undefined).slice(0, MAX_HANDOFFS);
  const texts = await Promise.all(
    handoffs.map(async (memory) => [memory.id, await renderHandoff(workspace, memory)] as const),
  );
  return new Map(texts.flatMap(([id, text]) => (text === undefined ? [] : [[id, text] as const])));
}

async function renderHandoff(workspace: Workspace, memory: Memory): Promise<string | undefined> {
  const found = await workspace.store.findEnvelope(workspace.name, memory.envelope?.id ?? "");
  const envelope = found && tryParseEnvelope(workspace, found.envelope);
  if (envelope === undefined || envelope.redacted !== undefined) return undefined;
  const { task, from, to, intent, done, next } = envelope;
  const states = [...new Set(found?.deliveries.map(({ state }) => state) ?? [])];
  const when = new Date(memory.storedAt).toISOString().slice(0, 16).replace("T", " ");
  const head = `- [handoff] ${quoteText(task)}: ${from.agent} to ${fenceAddress(addressOf(to))}, ${states.join(", ") || "settled"}, ${when} (${memory.id})`;
  const body = [
    intent,
    ...done.map((step) => `done: ${step}`),
    ...next.map((step) => `next: ${step}`),
  ];
  return `${head}\n${fenceText(body.join("\n"))}`;
}
