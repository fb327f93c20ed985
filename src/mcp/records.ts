/** Reads memories and handoffs by id, shortened to a level of detail or a token budget. */
import type { ReadMemory } from "../delivery/work/read-record.ts";
import type { DetailLevel } from "../envelope/schema.ts";
import { dataText, deliveryStatusText, memoryText } from "./text.ts";
import type { TokenCounter } from "./token-budget.ts";
import type { Connection } from "./tool.ts";

/** Returns whether an id is the id of a handoff (not the handle of accepted work). */
export const isHandoffId = (id: string): boolean => id.startsWith("dlv_") && !id.includes("#");

/** Returns the state of a handoff with its primer (concise) or its full envelope (detailed). */
export async function handoffText(
  { hub }: Connection,
  id: string,
  much: "concise" | "detailed",
): Promise<string> {
  const shown = await hub.deliveries.get(id);
  const body = much === "concise" ? await hub.deliveries.primer(id) : dataText(shown.envelope);
  return `${deliveryStatusText(shown)}\n${body}`;
}

/** Returns the newest version of a record. A short id needs the handle of the work that shows it. */
export function readRecord(
  { agent, held }: Connection,
  id: string,
  { level, handle }: { readonly level: DetailLevel; readonly handle?: string | undefined },
): Promise<ReadMemory> {
  if (handle === undefined) return agent.memories.read(id, { freshest: true, level });
  return held.at(agent, handle).then((work) => work.read(id, level));
}

/** Levels of detail, longest first. */
const LEVELS_LONGEST_FIRST: readonly DetailLevel[] = ["full", "detail", "summary"];

/** A number of tokens and how to count them. */
export interface TokenBudget {
  readonly meter: TokenCounter;
  readonly tokens: number;
}

/** Returns a record in full, or at the longest level that fits the budget, with a note about it. */
export async function recordText(
  connection: Connection,
  id: string,
  {
    handle,
    levels = LEVELS_LONGEST_FIRST,
    budget,
  }: {
    readonly handle?: string | undefined;
    readonly levels?: readonly DetailLevel[];
    readonly budget: TokenBudget;
  },
): Promise<string> {
  const [first = "full", ...shorter] = levels;
  const memory = await readRecord(connection, id, { level: first, handle });
  const whole = memoryText(memory, memory.text ?? "");
  const takes = budget.meter.count(whole);
  if (takes <= budget.meter.usable(budget.tokens) || memory.redacted !== undefined) return whole;
  const note = `Shortened: the full text takes ${takes} tokens.`;
  const named = memory.value === undefined ? memory.id : id;
  let last = whole;
  for (const level of shorter) {
    const less = await readRecord(connection, named, { level, handle });
    last = memoryText({ ...memory, ...less }, less.text ?? "", [note]);
    if (budget.meter.count(last) <= budget.meter.usable(budget.tokens)) break;
  }
  return last;
}
