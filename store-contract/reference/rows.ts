/** The rows of the reference store, and the lookups that its operations share. */
import type { Archive } from "../../src/store/archive.ts";
import { genesis } from "../../src/store/chain.ts";
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
import type { BrowseDeliveries, InboxCursor, Moment } from "../../src/store/store.ts";
import type { WorkspaceRows } from "./archive.ts";
import type { Head } from "./prune.ts";

export type InWorkspace<Row> = Row & { readonly workspace: string };

/** All rows of a store. A write works on a copy. */
export interface Tables {
  agents: InWorkspace<AgentRow>[];
  memories: InWorkspace<MemoryRow>[];
  relations: InWorkspace<RelationEdge>[];
  envelopes: InWorkspace<EnvelopeRow>[];
  deliveries: InWorkspace<DeliveryRow>[];
  attempts: InWorkspace<AttemptRow>[];
  events: InWorkspace<EventRow>[];
  entries: InWorkspace<EntryRow>[];
  /** Heads of the chains whose last record was pruned. */
  heads: InWorkspace<Head>[];
  /** How many rows were pruned, so that positions and event numbers only grow. */
  gone: { readonly memories: number; readonly events: number };
}

const TABLE_NAMES = [
  "agents",
  "memories",
  "relations",
  "envelopes",
  "deliveries",
  "attempts",
  "events",
  "entries",
  "heads",
] as const satisfies readonly (keyof Tables)[];

/**
 * Returns the rows of one workspace, without the workspace column. Copies a list when it is first
 * read: most reads need one of the nine lists, and copying all of them made reads of a large store
 * ten times slower.
 */
export function rowsOf(shelf: Tables, workspace: string): Tables {
  const rows = { gone: shelf.gone } as Tables;
  for (const name of TABLE_NAMES) {
    Object.defineProperty(rows, name, {
      configurable: true,
      enumerable: true,
      get: () => {
        const list: readonly { workspace: string }[] = shelf[name];
        const value = list
          .filter((row) => row.workspace === workspace)
          .map(({ workspace: _, ...row }) => row);
        Object.defineProperty(rows, name, { value });
        return value;
      },
    });
  }
  return rows;
}

export const copy = (shelf: Tables): Tables => ({
  agents: [...shelf.agents],
  memories: [...shelf.memories],
  relations: [...shelf.relations],
  envelopes: [...shelf.envelopes],
  deliveries: [...shelf.deliveries],
  attempts: [...shelf.attempts],
  events: [...shelf.events],
  entries: [...shelf.entries],
  heads: [...shelf.heads],
  gone: shelf.gone,
});

/**
 * Returns the tables with an imported workspace added. Raises `gone` for rows that the archive does
 * not contain, so that positions and event numbers only grow.
 */
export function withImportedRows(
  shelf: Tables,
  workspace: string,
  { lists, archive }: { lists: WorkspaceRows; archive: Archive },
): Tables {
  const own = <Row>(rows: readonly Row[]): InWorkspace<Row>[] =>
    rows.map((row) => ({ ...row, workspace }));
  const last = shelf.events.at(-1)?.number ?? 0;
  const movedBy = Math.max(0, last + 1 - (lists.events[0]?.number ?? last + 1));
  const moved = lists.events.map((row) => ({ ...row, number: row.number + movedBy }));
  const memories = [...shelf.memories, ...own(lists.memories)];
  const events = [...shelf.events, ...own(moved)];
  const pruned = archive.summary.heads.filter(
    ({ branch }) => !lists.memories.some((row) => row.branch === branch),
  );
  return {
    agents: [...shelf.agents, ...own(lists.agents)],
    memories,
    relations: [...shelf.relations, ...own(lists.relations)],
    envelopes: [...shelf.envelopes, ...own(lists.envelopes)],
    deliveries: [...shelf.deliveries, ...own(lists.deliveries)],
    attempts: [...shelf.attempts, ...own(lists.attempts)],
    events,
    entries: [...shelf.entries, ...own(lists.entries)],
    heads: [...shelf.heads, ...own(pruned)],
    gone: {
      memories: Math.max(shelf.gone.memories, archive.summary.lastPlace - memories.length),
      events: Math.max(shelf.gone.events, (events.at(-1)?.number ?? 0) - events.length),
    },
  };
}

export function envelopeIn(shelf: Tables, delivery: DeliveryRow): EnvelopeRow {
  return shelf.envelopes.find((row) => row.id === delivery.envelope) as EnvelopeRow;
}

/** Compares by code point, as databases do. JavaScript's order differs beyond the basic plane. */
export const byCodePoint = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Compares deliveries by inbox order. */
export function compareByPlace(a: DeliveryRow, b: DeliveryRow): number {
  return a.place - b.place || (a.id < b.id ? -1 : 1);
}

export const isAfter = (row: DeliveryRow, cursor: InboxCursor | undefined): boolean =>
  cursor === undefined ||
  row.place > cursor.place ||
  (row.place === cursor.place && row.id > cursor.id);

export const matchesFilter = (row: DeliveryRow, wanted: BrowseDeliveries): boolean =>
  (wanted.states === undefined || wanted.states.includes(row.state)) &&
  (wanted.sender === undefined || row.sender === wanted.sender) &&
  (wanted.receiver === undefined || row.receiver === wanted.receiver) &&
  (wanted.task === undefined || row.task === wanted.task) &&
  (wanted.sentAfter === undefined || row.sentAt >= wanted.sentAfter) &&
  (wanted.sentBefore === undefined || row.sentAt < wanted.sentBefore);

export function headOf(
  { memories, heads }: Pick<Tables, "memories" | "heads">,
  { workspace, branch }: { workspace: string; branch: string },
): Head {
  const isOwn = (row: InWorkspace<{ branch: string }>) => row.branch === branch;
  const { seq, storedAt, link } = memories.findLast(isOwn) ??
    heads.find(isOwn) ?? { seq: 0, storedAt: 0, link: genesis(workspace, branch) };
  return { branch, seq, storedAt, link };
}

export const bytesOf = (rows: readonly MemoryRow[]): number =>
  rows.reduce((sum, row) => sum + Buffer.byteLength(row.text), 0);

/** Returns the head of every chain, in the order of their first records. */
export function headsOf(shelf: Pick<Tables, "memories" | "heads">, workspace: string): Head[] {
  const branches = [...shelf.heads, ...shelf.memories].map((row) => row.branch);
  return [...new Set(branches)].map((branch) => headOf(shelf, { workspace, branch }));
}

/** Returns the records that existed at a moment; none if the moment names an unknown record. */
export function asOf(
  memories: readonly MemoryRow[],
  moment: Moment | undefined,
): readonly MemoryRow[] {
  switch (moment?.kind) {
    case undefined:
      return memories;
    case "time":
      return memories.filter((row) => row.storedAt <= moment.at);
    case "memory":
      return memories.slice(0, memories.findIndex((row) => row.id === moment.id) + 1);
  }
}
