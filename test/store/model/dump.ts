/** Reads everything that a store returns of a workspace. */
import { type MemoryRow, OPEN_STATES } from "../../../src/store/rows.ts";
import type { Store } from "../../../src/store/store.ts";
import { publicVisibility } from "../../../src/store/visibility.ts";
import { BRANCH, ENTRY_KINDS, NAMES, PROCESSES, ROLES, WORKSPACE } from "./side.ts";

const ALL = 100_000;

/** Returns the fields of a record that the interface defines: a store may return more. */
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
    sight: publicVisibility(BRANCH),
    filter: {},
    limit: ALL,
  });
  const events = await store.readEvents(workspace, 0, ALL);
  const tasks = [...new Set(events.map((event) => event.task))];
  const deliveries = [...new Set(events.map((event) => event.delivery).filter(Boolean))];
  const inboxes = [...NAMES, "dot", ...ROLES];
  const edges = (memory: string, direction: "in" | "out") =>
    store.findRelations({
      workspace,
      memory,
      direction,
      sight: publicVisibility(BRANCH),
      limit: ALL,
    });
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
    entries: await Promise.all(
      ENTRY_KINDS.map((kind) => store.listEntries({ workspace, kind, limit: ALL })),
    ),
    parked: await Promise.all(
      (["dead", "waiting"] as const).map((state) =>
        store.listParked({ workspace, state, limit: ALL }),
      ),
    ),
    due: await store.listDue({ workspace, gone: PROCESSES, limit: ALL }),
    open: await Promise.all(inboxes.map((inbox) => store.countOpen(workspace, inbox, ALL))),
    inboxes: await store.listDeliveries({
      workspace,
      receivers: inboxes,
      states: OPEN_STATES,
      limit: ALL,
    }),
    totals: await store.countDeliveries(workspace),
    verified: await store.verify(workspace),
  };
}

export type Dump = Awaited<ReturnType<typeof dumpOf>>;
