/**
 * Verification through the front door: everything a store shows of a workspace must agree with its
 * hashes and with itself. Needs nothing of the store but its ordinary reads, so it also finds a
 * store whose own `verify` looks away.
 */
import type { DeliveryRow, EnvelopeRow } from "../../store/rows.ts";
import type { Problem, Store } from "../../store/store.ts";
import { verifyWorkspace } from "../../store/verify/workspace.ts";

const ALL = 1_000_000;

export async function verifyByReading(
  store: Store,
  workspace: string,
  { branches, kinds }: { readonly branches: Iterable<string>; readonly kinds: Iterable<string> },
): Promise<readonly Problem[]> {
  const agents = await store.listAgents(workspace);
  const events = await store.readEvents(workspace, 0, ALL);
  const envelopes = await envelopesOf(store, workspace, new Set(events.map(({ task }) => task)));
  const deliveries = await deliveriesOf(
    store,
    workspace,
    new Set(events.map(({ delivery }) => delivery).filter(Boolean)),
  );
  const chains = new Map(
    await Promise.all(
      [...branches].map(async (branch) => {
        const rows = await store.recentMemories({ workspace, filter: { branch }, limit: ALL });
        return [branch, rows.toReversed()] as const;
      }),
    ),
  );
  const relations = (memory: string) =>
    store.findRelations({ workspace, memory, direction: "out", limit: ALL });
  const memories = [...chains.values()].flat();
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
        return { branch, seq: rows.length, storedAt: last.storedAt, link: last.link };
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
      for (const kind of kinds) yield* await store.listEntries({ workspace, kind, limit: ALL });
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
