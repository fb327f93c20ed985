/**
 * All that one agent or one session wrote, newest first, back to a time: on every branch, and step by
 * step in its traces. Also what is private to it: who is not trusted any more is not trusted in private
 * either.
 */

import type { MemoryFilter } from "../store/filter.ts";
import {
  everybodyOn,
  type Line,
  NOBODY,
  type Reader,
  type Sight,
  TIP,
  TRUNK,
} from "../store/sight.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { agentInfo, requireAgent } from "./agents.ts";
import { BRANCH } from "./branches/branch.ts";

/** Whose output. */
export type Source =
  | { readonly agent: string; readonly since?: number | undefined }
  | { readonly session: string; readonly since?: number | undefined };

export async function outputOf(workspace: Workspace, source: Source): Promise<string[]> {
  const { store, name, limits } = workspace;
  const { reader, filter } = await lookFor(workspace, source);
  const lines = await allLines(workspace);
  const sight: Sight = { ...everybodyOn(TRUNK), lines, reader, traces: true };
  const limit = limits.pageSize;
  const found: string[] = [];
  for (let before: string | undefined; ; ) {
    const cursor = before === undefined ? {} : { before };
    const page = await store.recentMemories({ workspace: name, sight, filter, limit, ...cursor });
    const recent = page.filter((row) => row.storedAt >= (source.since ?? 0));
    found.push(...recent.map((row) => row.id));
    before = page.at(-1)?.id;
    if (page.length < limit || recent.length < page.length || before === undefined) return found;
  }
}

interface Look {
  readonly reader: Reader;
  readonly filter: MemoryFilter;
}

async function lookFor(workspace: Workspace, source: Source): Promise<Look> {
  if ("session" in source) {
    const { session } = source;
    return { reader: { ...NOBODY, session }, filter: { session } };
  }
  const { id: agent, owner: user = "" } = agentInfo(await requireAgent(workspace, source.agent));
  return { reader: { agent, session: "", user }, filter: { agent } };
}

async function allLines({ store, name: workspace, limits }: Workspace): Promise<Line[]> {
  const lines: Line[] = [{ branch: TRUNK, upTo: TIP }];
  const limit = limits.pageSize;
  for (let after = ""; ; ) {
    const page = await store.listEntries({ workspace, kind: BRANCH, after, limit });
    for (const { name } of page) if (name !== TRUNK) lines.push({ branch: name, upTo: TIP });
    after = page.at(-1)?.name ?? "";
    if (page.length < limit) return lines;
  }
}
