/** The rows of the reference store, and the look-ups in them that its operations share. */
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

/** All there is. A write works on a copy. */
export interface Tables {
  agents: InWorkspace<AgentRow>[];
  memories: InWorkspace<MemoryRow>[];
  relations: InWorkspace<RelationEdge>[];
  envelopes: InWorkspace<EnvelopeRow>[];
  deliveries: InWorkspace<DeliveryRow>[];
  attempts: InWorkspace<AttemptRow>[];
  events: InWorkspace<EventRow>[];
  entries: InWorkspace<EntryRow>[];
  /** Where chains ended whose last record was pruned, and how much has gone: numbers only rise. */
  heads: InWorkspace<Head>[];
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
 * The rows of one workspace, without the column that names it. A list is copied when it is first read: most
 * reads need one of the nine, and copying all of them made reading a large store ten times as slow.
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

/** With the rows of another workspace. Numbers only rise: what has gone makes up for what is missing. */
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

/** The order of UTF-8, in which databases sort: not that of JavaScript, beyond the basic plane. */
export const byCodePoint = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The order of an inbox. */
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

/** Every chain there is, in the order of their first records. */
export function headsOf(shelf: Pick<Tables, "memories" | "heads">, workspace: string): Head[] {
  const branches = [...shelf.heads, ...shelf.memories].map((row) => row.branch);
  return [...new Set(branches)].map((branch) => headOf(shelf, { workspace, branch }));
}

/** The records that were there at a moment. Of none that is there, nothing was. */
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
