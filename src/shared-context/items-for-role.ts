/**
 * Selects the items of the shared context for a role, to be included in a receiver's view and in an agent's
 * catch-up. Costs one query of one entry if there is no shared context.
 */

import { type Memory, memoryOf } from "../memory/record.ts";
import { roleProfile } from "../profiles/workspace-profiles.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { CONTEXT_SECTIONS, type ContextItem, isFor, isMust } from "./items.ts";
import { rankItems } from "./read.ts";
import { lineOf } from "./render.ts";
import { liveItems, readContextVersion } from "./stored-items.ts";

/** The most items besides musts; a view has many other sources. */
const MAX_OTHER_ITEMS = 30;

/** The memory of an item, and whether it is a must. */
export interface ContextMemory {
  readonly memory: Memory;
  readonly must: boolean;
}

/** Returns the items for a view: all musts, then the others by section (binding first) and newest first. */
export async function listContextMemories(
  workspace: Workspace,
  role: string | undefined,
): Promise<readonly ContextMemory[]> {
  if ((await readContextVersion(workspace)).version === 0) return [];
  const live = (await liveItems(workspace)).flatMap((each) =>
    each.kind === "item" && isFor(each.item, role) ? [each] : [],
  );
  const order = (item: ContextItem): number => CONTEXT_SECTIONS.indexOf(item.section);
  const rest = live
    .filter(({ item }) => !isMust(item))
    .sort((a, b) => order(a.item) - order(b.item) || b.item.version - a.item.version);
  return [
    ...live.filter(({ item }) => isMust(item)).map(({ row }) => ({ row, must: true })),
    ...rest.slice(0, MAX_OTHER_ITEMS).map(({ row }) => ({ row, must: false })),
  ].map(({ row, must }) => ({ memory: memoryOf(row), must }));
}

/** A line of the shared context, and the id of the memory it renders. */
export interface ContextLine {
  readonly id: string;
  readonly text: string;
}

/** The shared context as lines, for one role. */
export interface ContextLines {
  /** The version of the whole context; 0 if there is none. */
  readonly version: number;
  readonly musts: readonly ContextLine[];
  /** The other items, heaviest for the role first. */
  readonly rest: readonly ContextLine[];
}

/** Returns the lines for an agent's catch-up. */
export async function readContextLines(
  workspace: Workspace,
  role: string | undefined,
): Promise<ContextLines> {
  const { version } = await readContextVersion(workspace);
  if (version === 0) return { version, musts: [], rest: [] };
  const [live, profile] = await Promise.all([liveItems(workspace), roleProfile(workspace, role)]);
  const own = live.flatMap((each) =>
    each.kind === "item" && isFor(each.item, role) ? [each.item] : [],
  );
  const lines = (items: readonly ContextItem[]): ContextLine[] =>
    items.map((item) => ({ id: item.memory, text: lineOf(item).trimEnd() }));
  const inOrder = rankItems(own, profile);
  return {
    version,
    musts: lines(inOrder.filter(isMust)),
    rest: lines(inOrder.filter((item) => !isMust(item))),
  };
}
