/**
 * What the shared context adds to what somebody is shown anyway: a receiver's view, and the text an agent
 * wakes up to. Where there is no shared context, that is one look at one entry.
 */

import { type Memory, memoryOf } from "../memory/record.ts";
import { roleProfile } from "../profiles/workspace-profiles.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { CONTEXT_SECTIONS, type ContextItem, isFor, isMust } from "./items.ts";
import { rankItems } from "./read.ts";
import { lineOf } from "./render.ts";
import { liveItems, readContextVersion } from "./stored-items.ts";

/** Besides what must be known: a view draws on much else. */
const MAX_OTHER_ITEMS = 30;

export interface ContextMemory {
  readonly memory: Memory;
  readonly must: boolean;
}

/** For a view: every must, and of the rest what binds first, then what is newest. */
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

/** A line of the shared context, and the memory it tells. */
export interface ContextLine {
  readonly id: string;
  readonly text: string;
}

export interface ContextLines {
  /** 0: there is no shared context. */
  readonly version: number;
  readonly musts: readonly ContextLine[];
  /** The weightiest for the role first. */
  readonly rest: readonly ContextLine[];
}

/** For an agent that wakes up. */
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
