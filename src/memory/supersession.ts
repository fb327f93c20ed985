/**
 * Finds the current version of memories that may have been superseded or corrected: the memory itself or its
 * newest replacement, over any number of steps. Works on many memories at once: each step of all walks costs
 * one query for inbound relations and one for the related memories.
 */
import * as z from "zod";
import type { MemoryRow } from "../store/rows.ts";
import { isRowVisible, type Visibility } from "../store/visibility.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { chunksOf } from "./quarantine/downstream.ts";
import { type Memory, memoryOf } from "./record.ts";

const REPLACING = ["supersedes", "corrects"] as const;
/** More replacements than one memory ever has in practice. */
const MAX_EDGES = 1_000;
/** Memories per query: with 10 relations each, the result is still complete. */
const BATCH_SIZE = 100;

/** Whether and by what a memory was replaced. */
export interface SupersessionStatus {
  /** Whether a visible memory superseded or corrected it. */
  readonly replaced: boolean;
  /** The newest replacement; undefined if it was not replaced, or no visible memory took its place. */
  readonly by: Memory | undefined;
}

/** Returns the status of each memory, as the reader sees it. */
export async function findSupersessions(
  workspace: Workspace,
  sight: Visibility,
  facts: readonly string[],
): Promise<ReadonlyMap<string, SupersessionStatus>> {
  const steps = new Map<string, Step>();
  let frontier: readonly string[] = [...new Set(facts)];
  while (frontier.length > 0) {
    for (const [id, step] of await stepsFrom(workspace, sight, frontier)) steps.set(id, step);
    const next = frontier.flatMap((id) => steps.get(id)?.places ?? []).map(({ id }) => id);
    frontier = [...new Set(next)].filter((id) => !steps.has(id));
  }
  return new Map(facts.map((fact) => [fact, followReplacements(steps, fact)]));
}

/** The direct replacements of one memory. */
interface Step {
  readonly replaced: boolean;
  /** Its direct replacements. */
  readonly places: readonly Memory[];
}

function followReplacements(steps: ReadonlyMap<string, Step>, fact: string): SupersessionStatus {
  if (steps.get(fact)?.replaced !== true) return { replaced: false, by: undefined };
  const standing: Memory[] = [];
  const seen = new Map<string, Memory | undefined>([[fact, undefined]]);
  for (const [id, memory] of seen) {
    const { replaced = false, places = [] } = steps.get(id) ?? {};
    if (!replaced && memory !== undefined) standing.push(memory);
    for (const each of places) if (!seen.has(each.id)) seen.set(each.id, each);
  }
  const newest = standing.sort((a, b) => a.storedAt - b.storedAt || (a.id < b.id ? -1 : 1)).at(-1);
  return { replaced: true, by: newest };
}

async function stepsFrom(
  workspace: Workspace,
  sight: Visibility,
  ids: readonly string[],
): Promise<Map<string, Step>> {
  const edges = await replacingEdges(workspace, sight, ids);
  const sources = [...new Set(edges.map(({ source }) => source))];
  const replacing = new Map(
    (await rowsOf(workspace, sources))
      .filter((row) => isRowVisible(row, sight))
      .map((row) => [row.id, memoryOf(row)]),
  );
  const by = Map.groupBy(edges, ({ target }) => target);
  const kept = new Set<string>();
  const found = ids.map((id) => {
    const records = [...new Set(by.get(id)?.map(({ source }) => source))].flatMap(
      (source) => replacing.get(source) ?? [],
    );
    // A merge record replaces nothing itself; the memory that the merge kept does.
    const keeps = records
      .filter(({ type }) => type === "merge")
      .flatMap(({ data }) => mergeWinnersOver(id, data));
    for (const each of keeps) kept.add(each);
    return { id, records, keeps };
  });
  const rows = (await rowsOf(workspace, [...kept])).filter((row) => isRowVisible(row, sight));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return new Map(
    found.map(({ id, records, keeps }) => {
      const merged = keeps.flatMap((each) => byId.get(each) ?? []).map(memoryOf);
      const places = [...records.filter(({ type }) => type !== "merge"), ...merged];
      return [id, { replaced: records.length > 0, places }];
    }),
  );
}

interface Edge {
  readonly source: string;
  readonly target: string;
}

/** Finds relations that supersede or correct these. Above MAX_EDGES, each memory is queried alone. */
async function replacingEdges(
  { store, name: workspace }: Workspace,
  sight: Visibility,
  ids: readonly string[],
): Promise<Edge[]> {
  const found: Edge[] = [];
  for (const memories of chunksOf(ids, BATCH_SIZE)) {
    const kinds = REPLACING;
    const edges = await store.findInbound({ workspace, memories, kinds, limit: MAX_EDGES });
    if (edges.length < MAX_EDGES) {
      found.push(...edges);
      continue;
    }
    for (const memory of memories) {
      const alone = { workspace, memory, direction: "in" as const, sight, kinds };
      const own = await store.findRelations({ ...alone, limit: MAX_EDGES });
      found.push(...own.map(({ source }) => ({ source, target: memory })));
    }
  }
  return found;
}

async function rowsOf({ store, name }: Workspace, ids: readonly string[]): Promise<MemoryRow[]> {
  const rows: MemoryRow[] = [];
  for (const chunk of chunksOf(ids)) rows.push(...(await store.readMemories(name, chunk)));
  return rows;
}

const ResolvedSchema = z.object({
  resolved: z.array(z.object({ keep: z.string(), over: z.string() })),
});

/** Returns what a merge kept instead of a memory. Any agent can write a `merge`, so `data` is validated. */
function mergeWinnersOver(fact: string, data: unknown): string[] {
  const { resolved = [] } = ResolvedSchema.safeParse(data).data ?? {};
  return resolved.flatMap(({ keep, over }) => (over === fact ? [keep] : []));
}
