/**
 * What the shared context adds to what somebody is shown anyway: a receiver's view, and the text an agent
 * wakes up to. Where there is no shared context, that is one look at one entry.
 */

import { type Memory, memoryOf } from "../memory/record.ts";
import { roleProfile } from "../profiles/workspace-profiles.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { CONTEXT_SECTIONS, type ContextItem, isFor, isMust } from "./items.ts";
import { ranked } from "./read.ts";
import { lineOf } from "./render.ts";
import { liveItems, wholeOf } from "./stored-items.ts";

/** Besides what must be known: a view draws on much else. */
const CONSIDERED = 30;

export interface OfferedMemory {
  readonly memory: Memory;
  readonly must: boolean;
}

/** For a view: every must, and of the rest what binds first, then what is newest. */
export async function offeredMemories(
  workspace: Workspace,
  role: string | undefined,
): Promise<readonly OfferedMemory[]> {
  if ((await wholeOf(workspace)).version === 0) return [];
  const live = (await liveItems(workspace)).flatMap((each) =>
    each.kind === "item" && isFor(each.item, role) ? [each] : [],
  );
  const order = (item: ContextItem): number => CONTEXT_SECTIONS.indexOf(item.section);
  const rest = live
    .filter(({ item }) => !isMust(item))
    .sort((a, b) => order(a.item) - order(b.item) || b.item.version - a.item.version);
  return [
    ...live.filter(({ item }) => isMust(item)).map(({ row }) => ({ row, must: true })),
    ...rest.slice(0, CONSIDERED).map(({ row }) => ({ row, must: false })),
  ].map(({ row, must }) => ({ memory: memoryOf(row), must }));
}

/** A line of the shared context, and the memory it tells. */
export interface OfferedLine {
  readonly id: string;
  readonly text: string;
}

export interface OfferedLines {
  /** 0: there is no shared context. */
  readonly version: number;
  readonly musts: readonly OfferedLine[];
  /** The weightiest for the role first. */
  readonly rest: readonly OfferedLine[];
}

/** For an agent that wakes up. */
export async function offeredLines(
  workspace: Workspace,
  role: string | undefined,
): Promise<OfferedLines> {
  const { version } = await wholeOf(workspace);
  if (version === 0) return { version, musts: [], rest: [] };
  const [live, profile] = await Promise.all([liveItems(workspace), roleProfile(workspace, role)]);
  const own = live.flatMap((each) =>
    each.kind === "item" && isFor(each.item, role) ? [each.item] : [],
  );
  const lines = (items: readonly ContextItem[]): OfferedLine[] =>
    items.map((item) => ({ id: item.memory, text: lineOf(item).trimEnd() }));
  const inOrder = ranked(own, profile);
  return {
    version,
    musts: lines(inOrder.filter(isMust)),
    rest: lines(inOrder.filter((item) => !isMust(item))),
  };
}
