/**
 * Verifies a store through its ordinary reads: everything it returns for a workspace must agree
 * with its hashes and with itself. Detects problems that the store's own `verify` misses.
 */
import { sessionOf } from "../../src/store/memory-filter.ts";
import {
  type DeliveryRow,
  type EnvelopeRow,
  type MemoryRow,
  parseText,
} from "../../src/store/rows.ts";
import type { Store } from "../../src/store/store.ts";
import { verifyWorkspace } from "../../src/store/verify/workspace.ts";
import type { Problem } from "../../src/store/verify-report.ts";
import {
  ANONYMOUS_READER,
  MAIN_BRANCH,
  publicVisibility,
  type Reader,
  type ScopedRecord,
} from "../../src/store/visibility.ts";

const NO_LIMIT = 1_000_000;

/** What the workspace may contain. No read lists all of it. */
interface WorkspaceContents {
  readonly branches: Iterable<string>;
  readonly kinds: Iterable<string>;
  /** The authors that may have written private memories. */
  readonly readers: readonly Reader[];
}

export async function verifyByReading(
  store: Store,
  workspace: string,
  { branches, kinds, readers }: WorkspaceContents,
): Promise<readonly Problem[]> {
  const agents = await store.listAgents(workspace);
  const events = await store.readEvents(workspace, 0, NO_LIMIT);
  const envelopes = await envelopesOf(store, workspace, new Set(events.map(({ task }) => task)));
  const deliveries = await deliveriesOf(
    store,
    workspace,
    new Set(events.map(({ delivery }) => delivery).filter(Boolean)),
  );
  const chains = new Map(
    await Promise.all(
      [...branches].map(async (branch) => {
        return [branch, await chainOf(store, readers, { workspace, branch })] as const;
      }),
    ),
  );
  const memories = [...chains.values()].flat();
  const authors = new Map(memories.map((row) => [row.id, authorOf(row)]));
  // Reads as the author, who could see every target.
  const relations = (memory: string) => {
    const sight = {
      ...publicVisibility(MAIN_BRANCH),
      reader: authors.get(memory) ?? ANONYMOUS_READER,
    };
    return store.findRelations({ workspace, memory, direction: "out", sight, limit: NO_LIMIT });
  };
  const edges = await Promise.all(memories.map(({ id }) => relations(id)));
  const { problems } = await verifyWorkspace({
    workspace,
    totals: {
      memories: memories.length,
      relations: edges.flat().length,
      envelopes: envelopes.length,
      deliveries: deliveries.length,
    },
    agents: () => agents,
    names: async function* () {
      for (const name of agents.flatMap(({ id, aliases }) => [id, ...aliases])) {
        yield { name, agent: (await store.findAgent(workspace, name))?.id ?? "" };
      }
    },
    heads: () =>
      [...chains].flatMap(([branch, rows]) => {
        const last = rows.at(-1);
        if (last === undefined) return [];
        return { branch, seq: last.seq, storedAt: last.storedAt, link: last.link };
      }),
    memories: (branch) => chains.get(branch) ?? [],
    memory: async (id) => (await store.readMemories(workspace, [id]))[0],
    relations,
    envelopes: () => envelopes,
    envelope: (id) => envelopes.find((row) => row.id === id),
    deliveries: () => deliveries,
    delivery: (id) => deliveries.find((row) => row.id === id),
    attempts: (delivery) => store.readAttempts(workspace, delivery),
    entries: async function* () {
      for (const kind of kinds)
        yield* await store.listEntries({ workspace, kind, limit: NO_LIMIT });
    },
  });
  return problems;
}

async function envelopesOf(
  store: Store,
  workspace: string,
  tasks: Iterable<string>,
): Promise<EnvelopeRow[]> {
  const lines = await Promise.all([...tasks].map((task) => store.readLine(workspace, task)));
  return lines.flat().map(({ envelope }) => envelope);
}

async function deliveriesOf(
  store: Store,
  workspace: string,
  ids: Iterable<string>,
): Promise<DeliveryRow[]> {
  const found = await Promise.all([...ids].map((id) => store.findDelivery(workspace, id)));
  return found.flatMap((each) => each?.delivery ?? []);
}

/** Returns every memory of a chain, oldest first: the public ones, and those each reader sees. */
async function chainOf(
  store: Store,
  readers: readonly Reader[],
  where: { readonly workspace: string; readonly branch: string },
): Promise<MemoryRow[]> {
  const { workspace, branch } = where;
  const rows = new Map<number, MemoryRow>();
  for (const reader of [ANONYMOUS_READER, ...readers]) {
    const sight = { ...publicVisibility(branch), reader };
    const seen = await store.recentMemories({ workspace, sight, filter: {}, limit: NO_LIMIT });
    for (const row of seen) rows.set(row.seq, row);
  }
  return [...rows.values()].sort((a, b) => a.seq - b.seq);
}

/** Returns the reader that sees what the author of a memory sees. */
export function authorOf(row: Pick<MemoryRow, "id" | "text">): Reader {
  const record = parseText<ScopedRecord>(row);
  return { agent: record.agent, session: sessionOf(record), user: record.user ?? "" };
}
