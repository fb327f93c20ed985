/**
 * Finds the records that build on given records, directly or through others, breadth first. Each record is
 * visited once, so cycles end. If a limit stops the walk, the result names the records where it stopped.
 */
import type { MemoryRow } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { DOWNSTREAM_KINDS } from "../citations.ts";

/** Records per query. */
const CHUNK = 500;
/** Relations in the first query; doubled as long as the result does not contain enough new records. */
const FIRST_PAGE = 1_000;

/** A record that the walk reached. */
export interface ReachedRecord {
  readonly row: MemoryRow;
  /** The number of steps from the start. */
  readonly depth: number;
  /** The record it points to, one step nearer to the start. */
  readonly from: string;
  /** The kind of that relation. */
  readonly kind: string;
}

/** A record with further downstream records that were not visited, and the limit that stopped the walk. */
export interface WalkCutoff {
  readonly memory: string;
  readonly why: "depth" | "limit";
}

/** The result of a walk. */
export interface Walk {
  readonly reached: readonly ReachedRecord[];
  readonly cut: readonly WalkCutoff[];
}

/** Limits of a walk. */
export interface Bounds {
  readonly depth: number;
  /** The most records to visit, not counting the start. */
  readonly limit: number;
}

type Step = Omit<ReachedRecord, "row"> & { readonly id: string };

/** Walks downstream from `roots`. */
export async function downstreamOf(
  workspace: Workspace,
  roots: readonly string[],
  { depth: deepest, limit }: Bounds,
): Promise<Walk> {
  const known = new Set(roots);
  const steps: Step[] = [];
  const cut = new Map<string, WalkCutoff["why"]>();
  let frontier: readonly string[] = [...known];
  for (let depth = 1; frontier.length > 0; depth++) {
    const next: string[] = [];
    const why = depth > deepest ? "depth" : "limit";
    for (const targets of chunksOf(frontier)) {
      const capacity = why === "depth" ? 0 : limit - steps.length;
      const { edges, whole } = await inbound(workspace, targets, { known, capacity });
      if (!whole) for (const target of targets) cut.set(target, why);
      for (const { source, target, kind } of edges) {
        if (known.has(source)) continue;
        if (why === "depth" || steps.length >= limit) {
          cut.set(target, why);
          continue;
        }
        known.add(source);
        steps.push({ id: source, depth, from: target, kind });
        next.push(source);
      }
    }
    frontier = next;
  }
  const reached = await withRows(workspace, steps);
  return { reached, cut: [...cut].map(([memory, why]) => ({ memory, why })) };
}

/** Returns the relations that point at these; `whole` is false if they exceed what may still be visited. */
async function inbound(
  { store, name: workspace }: Workspace,
  memories: readonly string[],
  { known, capacity }: { readonly known: ReadonlySet<string>; readonly capacity: number },
) {
  for (let limit = FIRST_PAGE; ; limit *= 2) {
    const edges = await store.findInbound({ workspace, memories, kinds: DOWNSTREAM_KINDS, limit });
    if (edges.length < limit) return { edges, whole: true };
    const unknown = new Set(edges.map(({ source }) => source)).difference(known);
    if (unknown.size > capacity) return { edges, whole: false };
  }
}

async function withRows(workspace: Workspace, steps: readonly Step[]): Promise<ReachedRecord[]> {
  const reached: ReachedRecord[] = [];
  for (const chunk of chunksOf(steps)) {
    const ids = chunk.map(({ id }) => id);
    const rows = await workspace.store.readMemories(workspace.name, ids);
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const { id, ...step } of chunk) {
      const row = byId.get(id);
      if (row !== undefined) reached.push({ row, ...step });
    }
  }
  return reached;
}

/** Splits a list into parts of `size`. Default: 500. */
export function* chunksOf<T>(list: readonly T[], size = CHUNK): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size);
}
