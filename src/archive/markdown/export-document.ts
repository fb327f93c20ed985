/**
 * Renders the memories of a team as a Markdown document for people (MEMORY.md): grouped by type, only current
 * records, each entry with a marker that ties it to its record. The same state gives the same text, so that
 * version control shows only changes of the memories.
 */
import { checkLimit } from "../../base/limits.ts";
import type { Memory } from "../../memory/record.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import {
  checkedQuery,
  listVisibleMemories,
  type MemoryExportQuery,
  matchesQuery,
  replacedIdsOf,
} from "../memory-export-query.ts";
import { encodeContent } from "./encode-content.ts";
import { HEADINGS, headingOf } from "./headings.ts";
import { markerOf } from "./marker.ts";

const DOCUMENT_HEADER = `# Memory

<!--
Written by Baton. To import changes: baton import --markdown MEMORY.md --as <name>
A changed entry supersedes its record, a new entry becomes a new record; an entry that you delete here
stays in the store. Keep the markers at the ends of entries.
-->
`;

/** Returns the document. Throws `limit_exceeded` if it is larger than `limits.documentBytes`. */
export async function renderDocument(
  workspace: Workspace,
  query: MemoryExportQuery,
): Promise<string> {
  const wanted = await checkedQuery(workspace, query);
  const outdated = new Set<string>();
  const byType = new Map<string, { readonly id: string; readonly text: string }[]>();
  let bytes = 0;
  for await (const { memory } of listVisibleMemories(workspace, wanted.branch)) {
    for (const id of replacedIdsOf(memory)) outdated.add(id);
    if (!isForPeople(memory, wanted) || !isValidAt(memory, workspace.clock.now())) continue;
    const text = entryOf(memory);
    bytes += Buffer.byteLength(text);
    checkLimit(workspace.limits, "documentBytes", { actual: bytes, path: "document" });
    const same = byType.get(memory.type) ?? [];
    same.push({ id: memory.id, text });
    byType.set(memory.type, same);
  }
  const order = Object.keys(HEADINGS);
  const rank = (type: string): number => order.indexOf(type) + 1 || order.length + 1;
  const types = [...byType.keys()].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const sections = types.flatMap((type) => {
    const entries = byType.get(type)?.filter(({ id }) => !outdated.has(id)) ?? [];
    if (entries.length === 0) return [];
    return `\n## ${headingOf(type)}\n\n${entries.map(({ text }) => text).join("")}`;
  });
  return DOCUMENT_HEADER + sections.join("");
}

/**
 * Returns true for records that belong in the document: other types only if requested, never records of the
 * hub.
 */
function isForPeople(memory: Memory, query: MemoryExportQuery): boolean {
  if (memory.redacted !== undefined || memory.trail !== undefined) return false;
  if (query.type === undefined && !Object.hasOwn(HEADINGS, memory.type)) return false;
  return matchesQuery(memory, query);
}

const isValidAt = ({ validFrom = 0, validUntil }: Memory, now: number): boolean =>
  validFrom <= now && (validUntil === undefined || now < validUntil);

function entryOf(memory: Memory): string {
  const lines = encodeContent(memory.content);
  const last = lines.pop() ?? "";
  const all = [...lines, `${last === "" ? "" : `${last} `}${markerOf(memory)}`];
  return `${all.map((line, i) => (i === 0 ? `- ${line}` : line === "" ? "" : `  ${line}`)).join("\n")}\n`;
}
