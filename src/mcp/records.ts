/** Reading by id whatever has one: a memory at a level, a handoff in brief or in full. */
import type { ReadMemory } from "../delivery/work/read-record.ts";
import type { DetailLevel } from "../envelope/schema.ts";
import { dataText, deliveryStatusText, memoryText } from "./text.ts";
import type { TokenCounter } from "./token-budget.ts";
import type { Connection } from "./tool.ts";

export const isHandoffId = (id: string): boolean => id.startsWith("dlv_") && !id.includes("#");

/** In brief as its receiver would be told of it, in full as it was sent. */
export async function handoffText(
  { hub }: Connection,
  id: string,
  much: "concise" | "detailed",
): Promise<string> {
  const shown = await hub.deliveries.get(id);
  const body = much === "concise" ? await hub.deliveries.primer(id) : dataText(shown.envelope);
  return `${deliveryStatusText(shown)}\n${body}`;
}

/** The freshest of a record. A short id is one of the views of the work whose handle is given. */
export function readRecord(
  { agent, held }: Connection,
  id: string,
  { level, handle }: { readonly level: DetailLevel; readonly handle?: string | undefined },
): Promise<ReadMemory> {
  if (handle === undefined) return agent.memories.read(id, { freshest: true, level });
  return held.at(agent, handle).then((work) => work.read(id, level));
}

/** From all of it to its summary. */
const LEVELS_LONGEST_FIRST: readonly DetailLevel[] = ["full", "detail", "summary"];

export interface TokenBudget {
  readonly meter: TokenCounter;
  readonly tokens: number;
}

/** A record in full, or as much of it as there is room for, which then is said. */
export async function recordText(
  connection: Connection,
  id: string,
  {
    handle,
    levels = LEVELS_LONGEST_FIRST,
    room,
  }: {
    readonly handle?: string | undefined;
    readonly levels?: readonly DetailLevel[];
    readonly room: TokenBudget;
  },
): Promise<string> {
  const [first = "full", ...shorter] = levels;
  const memory = await readRecord(connection, id, { level: first, handle });
  const whole = memoryText(memory, memory.text ?? "");
  const takes = room.meter.count(whole);
  if (takes <= room.meter.usable(room.tokens) || memory.redacted !== undefined) return whole;
  const note = `Shortened: all of it takes ${takes} tokens.`;
  const named = memory.value === undefined ? memory.id : id;
  let last = whole;
  for (const level of shorter) {
    const less = await readRecord(connection, named, { level, handle });
    last = memoryText({ ...memory, ...less }, less.text ?? "", [note]);
    if (room.meter.count(last) <= room.meter.usable(room.tokens)) break;
  }
  return last;
}
