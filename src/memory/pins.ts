/**
 * Pins: facts that always travel. A pin is a memory like any other, of type `pin`, that points to
 * what it pins; taking it off is another memory that supersedes it. So it is known who pinned what
 * and when, and nothing has a table of its own.
 *
 * What is pinned is the fact, not its wording: when the record was superseded or corrected, the newest
 * that holds instead travels. A pin is seen by whoever may see what it pins, and by nobody else.
 */
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { isQuarantined, type Visibility } from "../store/visibility.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { AsOfSchema } from "./as-of.ts";
import { readMemory, readVisible } from "./read.ts";
import { type Author, type Memory, type MemoryInput, memoryOf } from "./record.ts";
import { remember } from "./remember.ts";
import { findSupersessions } from "./supersession.ts";
import { visibilityOf } from "./visibility.ts";

const PIN = "pin";
const UNPIN = "unpin";

/** A fact that travels. */
export interface PinnedMemory extends Memory {
  /** The record that was pinned, where this one has superseded or corrected it. */
  readonly insteadOf?: string;
}

/** Pins a memory. Pinning what is pinned already changes nothing. */
export async function pin(workspace: Workspace, author: Author, memory: string): Promise<void> {
  const target = await readMemory(workspace, memory);
  const pinned = await activePins(workspace, await visibilityOf(workspace));
  if (pinned.some((each) => isAbout(each, target.id))) return;
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
      ...scopeOf(target),
    },
  ]);
}

/** Takes a pin off. Unpinning what is not pinned changes nothing. */
export async function unpin(workspace: Workspace, author: Author, memory: string): Promise<void> {
  const target = await readMemory(workspace, memory);
  const pinned = await activePins(workspace, await visibilityOf(workspace));
  const active = pinned.filter((each) => isAbout(each, target.id));
  if (active.length === 0) return;
  await remember(
    workspace,
    author,
    active.map((each) => ({
      type: UNPIN,
      // Named by the pin alone: what was quarantined can be unpinned, and nothing may refer to it.
      content: `${author.agent} unpinned ${each.pins}.`,
      relations: [{ kind: "supersedes" as const, to: each.pin.id }],
      ...scopeOf(each.pin),
    })),
  );
}

/** For the same readers. */
function scopeOf({ scope, session }: Memory): Pick<MemoryInput, "scope" | "session"> {
  if (scope === undefined) return {};
  return scope === "session" ? { scope, session } : { scope };
}

export const PinsSchema = z.strictObject({
  /** What was pinned then. */
  asOf: AsOfSchema.optional(),
});

export type PinsQuery = z.input<typeof PinsSchema>;

/** Everything that is pinned and may be seen, as it holds now, in the order it was pinned. */
export async function pinnedMemories(
  workspace: Workspace,
  query: PinsQuery = {},
): Promise<PinnedMemory[]> {
  const { asOf } = parseOrThrow(PinsSchema, query, { code: "invalid_input", what: "The query" });
  const sight = await visibilityOf(workspace, { asOf });
  // Two agents may pin the same thing at the same moment: it is pinned, once.
  const pinned = new Map<string, string>();
  for (const { holds, pins } of await activePins(workspace, sight)) {
    if (holds !== undefined && !pinned.has(holds)) pinned.set(holds, pins);
  }
  const wanted = [...pinned.keys()].filter((id) => !isQuarantined(id, sight));
  const memories = (await readVisible(workspace, wanted)).map(memoryOf);
  return memories
    .filter(({ redacted }) => redacted === undefined) // Nothing is left to travel.
    .map((memory) => {
      const pins = pinned.get(memory.id);
      return pins === undefined || pins === memory.id ? memory : { ...memory, insteadOf: pins };
    });
}

interface ActivePin {
  readonly pin: Memory;
  readonly pins: string;
  /** What holds of it: itself, or the newest that replaced it; undefined when nothing took its place. */
  readonly holds: string | undefined;
}

const isAbout = ({ pins, holds }: ActivePin, id: string): boolean => pins === id || holds === id;

async function activePins(workspace: Workspace, sight: Visibility): Promise<ActivePin[]> {
  const ended = new Set<string>();
  // Taken off is taken off: what quarantines an unpin does not pin anew.
  for (const record of await listByType(workspace, UNPIN, { ...sight, quarantined: [] })) {
    for (const relation of record.relations ?? []) ended.add(relation.to);
  }
  const left = (await listByType(workspace, PIN, sight)).filter((record) => !ended.has(record.id));
  // Anybody may call a memory a pin; one that names nothing pins nothing.
  const named = left.reverse().flatMap((record) => {
    const [pins] = record.refs ?? [];
    return pins === undefined ? [] : [{ pin: record, pins }];
  });
  const became = await findSupersessions(
    workspace,
    sight,
    named.flatMap(({ pin: { id }, pins }) => [id, pins]),
  );
  return named
    .filter(({ pin: { id } }) => !became.get(id)?.replaced)
    .map(({ pin: record, pins }) => {
      const { replaced = false, by } = became.get(pins) ?? {};
      return { pin: record, pins, holds: replaced ? by?.id : pins };
    });
}

async function listByType(
  { store, name, limits }: Workspace,
  type: string,
  sight: Visibility,
): Promise<Memory[]> {
  const found: Memory[] = [];
  const look = { workspace: name, sight, filter: { type }, limit: limits.pageSize };
  for (;;) {
    const last = found.at(-1)?.id;
    const cursor = last === undefined ? {} : { before: last };
    const page = await store.recentMemories({ ...look, ...cursor });
    found.push(...page.map(memoryOf));
    if (page.length < look.limit) return found;
  }
}
