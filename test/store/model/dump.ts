/** Everything a store can show of a workspace. */
import type { MemoryRow } from "../../../src/store/rows.ts";
import type { Store } from "../../../src/store/store.ts";
import { BRANCH, WORKSPACE } from "./side.ts";

const ALL = 100_000;

/** A record as the interface describes it: a store may show more than it has to. */
export const plain = ({ id, branch, seq, storedAt, text, signature, link }: MemoryRow) => ({
  id,
  branch,
  seq,
  storedAt,
  text,
  signature,
  link,
});

export async function dumpOf(store: Store) {
  const workspace = WORKSPACE;
  const memories = await store.recentMemories({
    workspace,
    filter: { branch: BRANCH },
    limit: ALL,
  });
  const events = await store.readEvents(workspace, 0, ALL);
  const tasks = [...new Set(events.map((event) => event.task))];
  const deliveries = [...new Set(events.map((event) => event.delivery))];
  const edges = (memory: string, direction: "in" | "out") =>
    store.findRelations({ workspace, memory, direction, limit: ALL });
  return {
    agents: await store.listAgents(workspace),
    memories: memories.map(plain),
    relations: await Promise.all(
      memories.map(async ({ id }) => ({ in: await edges(id, "in"), out: await edges(id, "out") })),
    ),
    lines: await Promise.all(tasks.map((task) => store.readLine(workspace, task))),
    deliveries: await Promise.all(deliveries.map((id) => store.findDelivery(workspace, id))),
    attempts: await Promise.all(deliveries.map((id) => store.readAttempts(workspace, id))),
    events,
    books: await store.countDeliveries(workspace),
    verified: await store.verify(workspace),
  };
}

export type Dump = Awaited<ReturnType<typeof dumpOf>>;
