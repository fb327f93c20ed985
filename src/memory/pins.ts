/**
 * Pins: facts that always travel. A pin is a memory like any other, of type `pin`, that points to
 * what it pins; taking it off is another memory that supersedes it. So it is known who pinned what
 * and when, and nothing has a table of its own.
 */
import * as z from "zod";
import { parseOr } from "../envelope/violations.ts";
import { BatonError } from "../errors.ts";
import { FORMAT_LIMITS } from "../limits.ts";
import { isQuarantined } from "../store/sight.ts";
import type { Workspace } from "../store/workspace.ts";
import { type AsOf, AsOfSchema } from "./as-of.ts";
import { readMemory, readOpen, recentMemories } from "./read.ts";
import { type Author, type Memory, memoryOf } from "./record.ts";
import { remember } from "./remember.ts";
import { sightOf } from "./sight.ts";

const PIN = "pin";
const UNPIN = "unpin";

/** Pins a memory. Pinning what is pinned already changes nothing. */
export async function pin(workspace: Workspace, author: Author, memory: string): Promise<void> {
  const target = await readMemory(workspace, memory);
  const pinned = await activePins(workspace);
  if (pinned.some((each) => each.pins === target.id)) return;
  if (pinned.length >= FORMAT_LIMITS.listItems) {
    throw new BatonError("limit_exceeded", {
      message: `There are ${pinned.length} pins already; they travel with every handoff.`,
      path: "pin",
      hint: "Unpin what no longer has to be known by everybody.",
      details: { limit: "listItems", max: FORMAT_LIMITS.listItems, actual: pinned.length + 1 },
    });
  }
  await remember(workspace, author, [
    {
      type: PIN,
      content: `${author.agent} pinned ${target.id}.`,
      refs: [target.id],
      relations: [{ kind: "references", to: target.id }],
    },
  ]);
}

/** Takes a pin off. Unpinning what is not pinned changes nothing. */
export async function unpin(workspace: Workspace, author: Author, memory: string): Promise<void> {
  const target = await readMemory(workspace, memory);
  const active = (await activePins(workspace)).filter((each) => each.pins === target.id);
  if (active.length === 0) return;
  await remember(workspace, author, [
    {
      type: UNPIN,
      // Named by the pin alone: what was quarantined can be unpinned, and nothing may refer to it.
      content: `${author.agent} unpinned ${target.id}.`,
      relations: active.map((each) => ({ kind: "supersedes" as const, to: each.pin })),
    },
  ]);
}

const PinsSchema = z.strictObject({
  /** What was pinned then. */
  asOf: AsOfSchema.optional(),
});

export type PinsQuery = z.input<typeof PinsSchema>;

/** Everything that is pinned and may be seen, in the order it was pinned. */
export async function pinnedMemories(
  workspace: Workspace,
  query: PinsQuery = {},
): Promise<Memory[]> {
  const { asOf } = parseOr(PinsSchema, query, { code: "invalid_input", what: "The query" });
  // Two agents may pin the same thing at the same moment: it is pinned, once.
  const pinned = new Set((await activePins(workspace, asOf)).map((each) => each.pins));
  const sight = await sightOf(workspace);
  const wanted = [...pinned].filter((id) => !isQuarantined(id, sight));
  const memories = (await readOpen(workspace, wanted)).map(memoryOf);
  return memories.filter(({ redacted }) => redacted === undefined); // Nothing is left to travel.
}

interface ActivePin {
  readonly pin: string;
  readonly pins: string;
}

async function activePins(workspace: Workspace, asOf?: AsOf): Promise<ActivePin[]> {
  const ended = new Set<string>();
  for (const record of await all(workspace, UNPIN, asOf)) {
    for (const relation of record.relations ?? []) ended.add(relation.to);
  }
  const active = (await all(workspace, PIN, asOf)).filter((record) => !ended.has(record.id));
  // Anybody may call a memory a pin; one that names nothing pins nothing.
  return active
    .reverse()
    .flatMap(({ id, refs = [] }) => refs.slice(0, 1).map((pins) => ({ pin: id, pins })));
}

async function all(workspace: Workspace, type: string, asOf: AsOf | undefined): Promise<Memory[]> {
  const found: Memory[] = [];
  const limit = workspace.limits.pageSize;
  let page: Memory[];
  do {
    const before = found.at(-1)?.id;
    page = await recentMemories(workspace, { type, limit, before, asOf });
    found.push(...page);
  } while (page.length === limit);
  return found;
}
