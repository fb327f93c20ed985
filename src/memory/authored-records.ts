/**
 * Lists everything that one agent or session wrote, for quarantine: newest first, back to a given time, on
 * all branches and in traces. Includes private memories, because an author that is no longer trusted is not
 * trusted in private either.
 */

import type { MemoryFilter } from "../store/memory-filter.ts";
import {
  ANONYMOUS_READER,
  type BranchRange,
  END_OF_BRANCH,
  MAIN_BRANCH,
  publicVisibility,
  type Reader,
  type Visibility,
} from "../store/visibility.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { agentInfo, requireAgent } from "./agents.ts";
import { BRANCH } from "./branches/branch.ts";

/** The agent or session to list. `since`: only those stored at or after this time (ms). */
export type RecordSource =
  | { readonly agent: string; readonly since?: number | undefined }
  | { readonly session: string; readonly since?: number | undefined };

/** Returns the ids of all memories of an author, newest first. */
export async function listAuthoredIds(
  workspace: Workspace,
  source: RecordSource,
): Promise<string[]> {
  const { store, name, limits } = workspace;
  const { reader, filter } = await sourceFilterOf(workspace, source);
  const lines = await allLines(workspace);
  const sight: Visibility = { ...publicVisibility(MAIN_BRANCH), lines, reader, traces: true };
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

interface SourceFilter {
  readonly reader: Reader;
  readonly filter: MemoryFilter;
}

async function sourceFilterOf(workspace: Workspace, source: RecordSource): Promise<SourceFilter> {
  if ("session" in source) {
    const { session } = source;
    return { reader: { ...ANONYMOUS_READER, session }, filter: { session } };
  }
  const { id: agent, owner: user = "" } = agentInfo(await requireAgent(workspace, source.agent));
  return { reader: { agent, session: "", user }, filter: { agent } };
}

async function allLines({ store, name: workspace, limits }: Workspace): Promise<BranchRange[]> {
  const lines: BranchRange[] = [{ branch: MAIN_BRANCH, upTo: END_OF_BRANCH }];
  const limit = limits.pageSize;
  for (let after = ""; ; ) {
    const page = await store.listEntries({ workspace, kind: BRANCH, after, limit });
    for (const { name } of page)
      if (name !== MAIN_BRANCH) lines.push({ branch: name, upTo: END_OF_BRANCH });
    after = page.at(-1)?.name ?? "";
    if (page.length < limit) return lines;
  }
}
