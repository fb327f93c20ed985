/**
 * Pins memories, so that they are included in every handoff and catch-up. A pin is a memory of type `pin`
 * that references its target; unpinning writes another memory that supersedes it. So the history shows which
 * agent pinned what and when, without a table for pins.
 *
 * A pin applies to the fact, not its wording: if the target was superseded or corrected, its newest
 * replacement is included instead. A pin is visible to exactly those readers who may see its target.
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

/** A pinned memory, or its newest replacement. */
export interface PinnedMemory extends Memory {
  /** The id of the memory that was pinned, if this one superseded or corrected it. */
  readonly insteadOf?: string;
}

/**
 * Pins a memory; does nothing if it is already pinned. Throws `limit_exceeded` above
 * `FORMAT_LIMITS.listItems` pins and `unknown_memory` if the memory is not visible.
 */
export async function pin(workspace: Workspace, author: Author, memory: string): Promise<void> {
  const target = await readMemory(workspace, memory);
  const pinned = await activePins(workspace, await visibilityOf(workspace));
  if (pinned.some((each) => isAbout(each, target.id))) return;
  if (pinned.length >= FORMAT_LIMITS.listItems) {
    throw new BatonError("limit_exceeded", {
      message: `The workspace already has ${pinned.length} pins; the limit is ${FORMAT_LIMITS.listItems}.`,
      path: "pin",
      hint: "Unpin memories that not every receiver needs; pins are included in every handoff.",
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

/** Unpins a memory; does nothing if it is not pinned. */
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
      // Relates to the pin only: a quarantined memory can be unpinned, but no new memory may reference it.
      content: `${author.agent} unpinned ${each.pins}.`,
      relations: [{ kind: "supersedes" as const, to: each.pin.id }],
      ...scopeOf(each.pin),
    })),
  );
}

/** Returns the scope of a memory, so that its pin has the same readers. */
function scopeOf({ scope, session }: Memory): Pick<MemoryInput, "scope" | "session"> {
  if (scope === undefined) return {};
  return scope === "session" ? { scope, session } : { scope };
}

/** Input of pinnedMemories(). */
export const PinsSchema = z.strictObject({
  /** Returns the pins as of this moment. Default: now. */
  asOf: AsOfSchema.optional(),
});

export type PinsQuery = z.input<typeof PinsSchema>;

/** Returns the pinned memories that the reader may see, or their replacements, in the order of pinning. */
export async function pinnedMemories(
  workspace: Workspace,
  query: PinsQuery = {},
): Promise<PinnedMemory[]> {
  const { asOf } = parseOrThrow(PinsSchema, query, { code: "invalid_input", what: "The query" });
  const sight = await visibilityOf(workspace, { asOf });
  // Two agents can pin the same memory at the same moment; it is listed once.
  const pinned = new Map<string, string>();
  for (const { holds, pins } of await activePins(workspace, sight)) {
    if (holds !== undefined && !pinned.has(holds)) pinned.set(holds, pins);
  }
  const wanted = [...pinned.keys()].filter((id) => !isQuarantined(id, sight));
  const memories = (await readVisible(workspace, wanted)).map(memoryOf);
  return memories
    .filter(({ redacted }) => redacted === undefined) // Its content was erased.
    .map((memory) => {
      const pins = pinned.get(memory.id);
      return pins === undefined || pins === memory.id ? memory : { ...memory, insteadOf: pins };
    });
}

interface ActivePin {
  /** The memory of type `pin`. */
  readonly pin: Memory;
  /** The id of its target. */
  readonly pins: string;
  /** The target or its newest replacement; undefined if it was replaced by nothing visible. */
  readonly holds: string | undefined;
}

const isAbout = ({ pins, holds }: ActivePin, id: string): boolean => pins === id || holds === id;

async function activePins(workspace: Workspace, sight: Visibility): Promise<ActivePin[]> {
  const ended = new Set<string>();
  // An unpin stays effective even if it was quarantined.
  for (const record of await listByType(workspace, UNPIN, { ...sight, quarantined: [] })) {
    for (const relation of record.relations ?? []) ended.add(relation.to);
  }
  const left = (await listByType(workspace, PIN, sight)).filter((record) => !ended.has(record.id));
  // Any agent can write a memory of type `pin`; one without a reference pins nothing.
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
