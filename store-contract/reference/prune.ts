/** Selects what retention deletes: the beginnings of traces, and the oldest events. */
import type { EventRow, MemoryRow, RelationEdge } from "../../src/store/rows.ts";
import type { PruneTrace, SurveyEvents, SurveyTrace, TraceBranch } from "../../src/store/store.ts";
import { isTraceBranch } from "../../src/store/visibility.ts";

/** The end of a chain; it stays the same after the last record was pruned. */
export interface Head {
  readonly branch: string;
  readonly seq: number;
  readonly storedAt: number;
  readonly link: string;
}

export function tracesIn(memories: readonly MemoryRow[], heads: readonly Head[]): TraceBranch[] {
  return heads
    .filter(({ branch }) => isTraceBranch(branch))
    .map(({ branch, seq: last, storedAt: lastAt, link }) => {
      const first = memories.find((row) => row.branch === branch);
      return {
        ...{ branch, last, lastAt, link },
        first: first?.seq ?? last + 1,
        firstAt: first?.storedAt ?? 0,
      };
    });
}

interface TraceRows {
  readonly memories: readonly MemoryRow[];
  readonly relations: readonly RelationEdge[];
}

/** Returns the beginning of a trace that can be pruned: no remaining record refers to it. */
export function prunableSteps(
  { memories, relations }: TraceRows,
  { branch, upTo }: SurveyTrace,
): { readonly rows: readonly MemoryRow[]; readonly heldBy: number } {
  if (!isTraceBranch(branch)) return { rows: [], heldBy: 0 };
  let rows = memories.filter((row) => row.branch === branch && row.seq <= upTo);
  for (let heldBy = 0; ; ) {
    const going = new Set(rows.map((row) => row.id));
    const held = rows.find((row) =>
      relations.some((edge) => edge.target === row.id && !going.has(edge.source)),
    );
    if (held === undefined) return { rows, heldBy };
    heldBy = held.seq;
    // Later steps stay too, so the next pass also checks what they refer to.
    rows = rows.filter((row) => row.seq < held.seq);
  }
}

/** Returns the next steps to delete if every step up to `upTo` may be pruned. */
export function nextSteps(
  { memories, relations }: TraceRows,
  { branch, upTo, limit }: PruneTrace,
  newest: string | undefined,
): { readonly rows: readonly MemoryRow[]; readonly heldBy: number } {
  if (!isTraceBranch(branch)) return { rows: [], heldBy: 0 };
  const announced = memories.filter((row) => row.branch === branch && row.seq <= upTo);
  const going = new Set(announced.map((row) => row.id));
  const slice = announced.slice(0, limit);
  const held = slice.findIndex((row) =>
    relations.some((edge) => edge.target === row.id && !going.has(edge.source)),
  );
  const rows = (held === -1 ? slice : slice.slice(0, held)).filter((row) => row.id !== newest);
  return { rows, heldBy: slice[held]?.seq ?? 0 };
}

/** Returns the events to prune, oldest first. */
export function prunableEvents(
  events: readonly EventRow[],
  { before = 0, keep = Number.POSITIVE_INFINITY }: SurveyEvents,
): readonly EventRow[] {
  const young = events.findIndex((event) => event.at >= before);
  const old = young === -1 ? events.length : young;
  const surplus = Math.max(0, events.length - keep);
  return events.slice(0, Math.min(Math.max(old, surplus), events.length - 1));
}
