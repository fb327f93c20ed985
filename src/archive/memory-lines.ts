/**
 * Yields memories of a branch, task or type as lines of JSON, as far as the reader may see them, for other
 * programs to read. It omits everything else, states so in its header (`lossy`), and cannot be imported.
 */

import { batonVersion } from "../base/version.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { EXPORT_VERSION, LineWriter, MEMORIES_FORMAT } from "./export-lines.ts";
import {
  checkedQuery,
  listVisibleMemories,
  type MemoryExportQuery,
  matchesQuery,
} from "./memory-export-query.ts";

export async function* memoryLines(
  workspace: Workspace,
  query: MemoryExportQuery,
): AsyncGenerator<string, void, undefined> {
  const wanted = await checkedQuery(workspace, query);
  const { name, clock, reader } = workspace;
  const lines = new LineWriter(MEMORIES_FORMAT, name);
  yield lines.header({
    ...{ kind: "header", format: MEMORIES_FORMAT, version: EXPORT_VERSION, lossy: true },
    ...{ baton: batonVersion(), workspace: name, exportedAt: clock.now() },
    ...{ reader: reader.agent, query: wanted },
  });
  for await (const { row, memory } of listVisibleMemories(workspace, wanted.branch)) {
    if (matchesQuery(memory, wanted)) yield lines.row({ kind: "memory", row });
  }
  yield lines.footer().line;
}
