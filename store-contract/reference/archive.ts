/** Exports a workspace of the reference store as archive rows, and rebuilds its lists from them. */
import {
  type Archive,
  type ArchivedRow,
  type ArchiveSummary,
  byCodePoint,
  type ExportItem,
  edgesIn,
  type ImportOutcome,
  totalOf,
} from "../../src/store/archive.ts";
import type {
  AgentRow,
  AttemptRow,
  DeliveryRow,
  EntryRow,
  EnvelopeRow,
  EventRow,
  MemoryRow,
  RelationEdge,
} from "../../src/store/rows.ts";
import type { Problem } from "../../src/store/verify-report.ts";
import type { Head } from "./prune.ts";

/** The rows of one workspace. */
export interface WorkspaceRows {
  readonly agents: AgentRow[];
  readonly memories: MemoryRow[];
  readonly relations: RelationEdge[];
  readonly envelopes: EnvelopeRow[];
  readonly deliveries: DeliveryRow[];
  readonly attempts: AttemptRow[];
  readonly entries: EntryRow[];
  readonly events: EventRow[];
}

export function summaryOf(lists: WorkspaceRows, heads: readonly Head[]): ArchiveSummary {
  return {
    counts: {
      agent: lists.agents.length,
      memory: lists.memories.length,
      envelope: lists.envelopes.length,
      delivery: lists.deliveries.length,
      attempt: lists.attempts.length,
      entry: lists.entries.length,
      event: lists.events.length,
    },
    heads: heads
      .map(({ branch, seq, storedAt, link }) => ({ branch, seq, storedAt, link }))
      .sort((a, b) => byCodePoint(a.branch, b.branch)),
    lastPlace: lists.deliveries.reduce((last, { place }) => Math.max(last, place), 0),
  };
}

export function* exportRows(lists: WorkspaceRows, heads: readonly Head[]): Generator<ExportItem> {
  yield { kind: "summary", summary: summaryOf(lists, heads) };
  const byId = (a: { readonly id: string }, b: { readonly id: string }): number =>
    byCodePoint(a.id, b.id);
  for (const row of lists.agents.toSorted(byId)) yield { kind: "agent", row };
  for (const row of lists.memories) yield { kind: "memory", row };
  for (const { storedAt: _, ...row } of lists.envelopes) yield { kind: "envelope", row };
  for (const row of lists.deliveries.toSorted(byId)) yield { kind: "delivery", row };
  const byDelivery = lists.attempts.toSorted((a, b) => byCodePoint(a.delivery, b.delivery));
  for (const row of byDelivery) yield { kind: "attempt", row };
  const byName = lists.entries.toSorted(
    (a, b) => byCodePoint(a.kind, b.kind) || byCodePoint(a.name, b.name),
  );
  for (const row of byName) yield { kind: "entry", row };
  for (const row of lists.events) yield { kind: "event", row };
}

/** Builds the lists from archived rows. Stops at the first invalid row and returns the problem. */
export function collectRows(rows: readonly ArchivedRow[]): {
  readonly lists: WorkspaceRows;
  readonly problem: Problem | undefined;
} {
  const lists: WorkspaceRows = {
    ...{ agents: [], memories: [], relations: [], envelopes: [] },
    ...{ deliveries: [], attempts: [], entries: [], events: [] },
  };
  for (const archived of rows) {
    const problem = put(lists, archived);
    if (problem !== undefined) return { lists, problem };
  }
  return { lists, problem: undefined };
}

function put(lists: WorkspaceRows, { kind, row }: ArchivedRow): Problem | undefined {
  switch (kind) {
    case "agent":
      lists.agents.push(row);
      return undefined;
    case "memory":
      return putMemory(lists, row);
    case "envelope": {
      const record = lists.memories.find(({ id }) => id === row.memory);
      const message = `${row.memory} is not there`;
      if (record === undefined) return { record: row.id, field: "memory", message };
      const known = lists.envelopes.some(({ id }) => id === row.id);
      if (known) return { record: row.id, field: "id", message: "is there twice" };
      lists.envelopes.push({ ...row, storedAt: record.storedAt });
      return undefined;
    }
    case "delivery": {
      const known = lists.deliveries.some(({ id }) => id === row.id);
      if (known) return { record: row.id, field: "id", message: "is there twice" };
      lists.deliveries.push(row);
      return undefined;
    }
    case "attempt":
      lists.attempts.push(row);
      return undefined;
    case "entry":
      lists.entries.push(row);
      return undefined;
    case "event":
      lists.events.push(row);
      return undefined;
  }
}

function putMemory(lists: WorkspaceRows, row: MemoryRow): Problem | undefined {
  const known = (memory: string): boolean => lists.memories.some(({ id }) => id === memory);
  if (known(row.id)) return { record: row.id, field: "id", message: "is there twice" };
  for (const edge of edgesIn(row.text)) {
    if (!known(edge.target)) {
      return { record: row.id, field: "relations", message: `${edge.target} is not there` };
    }
    lists.relations.push({ ...edge, source: row.id });
  }
  lists.memories.push(row);
  return undefined;
}

/**
 * Returns the outcome of an import into a workspace that is not empty. A link fixes everything
 * before it: a workspace that contains the heads of the archive contains its whole history.
 */
export function occupiedOutcome(
  lists: WorkspaceRows,
  heads: readonly Head[],
  { summary }: Archive,
): ImportOutcome {
  const same = summary.heads.every(({ branch, seq, link }) =>
    [...heads, ...lists.memories].some(
      (row) => row.branch === branch && row.seq === seq && row.link === link,
    ),
  );
  if (same && summary.heads.length > 0) return { kind: "already_there" };
  return { kind: "not_empty", records: totalOf(summaryOf(lists, heads).counts) };
}
