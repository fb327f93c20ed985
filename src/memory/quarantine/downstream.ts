/**
 * Following what came of records, breadth first: who points at them by a relation that says so, who
 * points at those, and on. Each record is visited once, so circles end; where a limit ends the walk,
 * it says at which records it did not go on.
 */
import type { MemoryRow } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { DOWNSTREAM_KINDS } from "../citations.ts";

/** Asked about at once, and read at once. */
const CHUNK = 500;
/** Edges in one answer; asked for again with twice as many where they do not tell enough. */
const FIRST_PAGE = 1_000;

export interface ReachedRecord {
  readonly row: MemoryRow;
  /** Steps from where the walk began. */
  readonly depth: number;
  /** The record it points to, nearer to the beginning, and how. */
  readonly from: string;
  readonly kind: string;
}

/** A record that more points to than was followed. */
export interface WalkCutoff {
  readonly memory: string;
  readonly why: "depth" | "limit";
}

export interface Walk {
  readonly reached: readonly ReachedRecord[];
  readonly cut: readonly WalkCutoff[];
}

export interface Bounds {
  readonly depth: number;
  /** Records to visit; where they began does not count. */
  readonly limit: number;
}

type Step = Omit<ReachedRecord, "row"> & { readonly id: string };

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
      const room = why === "depth" ? 0 : limit - steps.length;
      const { edges, whole } = await inbound(workspace, targets, { known, room });
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

/** Everything that points at these; or not the whole of it, but more new records than there is room. */
async function inbound(
  { store, name: workspace }: Workspace,
  memories: readonly string[],
  { known, room }: { readonly known: ReadonlySet<string>; readonly room: number },
) {
  for (let limit = FIRST_PAGE; ; limit *= 2) {
    const edges = await store.findInbound({ workspace, memories, kinds: DOWNSTREAM_KINDS, limit });
    if (edges.length < limit) return { edges, whole: true };
    const unknown = new Set(edges.map(({ source }) => source)).difference(known);
    if (unknown.size > room) return { edges, whole: false };
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

export function* chunksOf<T>(list: readonly T[], size = CHUNK): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size);
}
