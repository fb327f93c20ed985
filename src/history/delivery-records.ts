/** Finds the records of one delivery: its handoffs and their acceptances. */
import { chunksOf } from "../memory/quarantine/downstream.ts";
import { type Memory, memoryOf } from "../memory/record.ts";
import type { TrailStep } from "../store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** Tag of notes that a holder wrote after it had lost the lease. */
export const STALE_HOLDER = "stale-holder";

/** Maximum number of records to read: more than a handoff to a channel can have receivers. */
const MAX_RECORDS = 10_000;

/**
 * Returns the handoff records of a delivery, newest first: that of its envelope, and those of earlier
 * envelopes.
 */
export async function handoffsTo(
  { store, name }: Workspace,
  { delivery, envelope }: DeliveryWithEnvelopeRow,
): Promise<Memory[]> {
  const found: Memory[] = [];
  const visited = new Set<string>();
  let next = [envelope.memory];
  while (next.length > 0) {
    for (const id of next) visited.add(id);
    const records = (await store.readMemories(name, next)).map(memoryOf);
    const own = records.filter(
      ({ id, trail = [] }) =>
        id === envelope.memory || trail.some((step) => isAbout(step, delivery.id)),
    );
    found.push(...own);
    next = own
      .flatMap((record) => targetsOf(record, "continues-from"))
      .filter((id) => !visited.has(id));
  }
  return found;
}

/** Returns the records of the acceptances of a delivery, oldest first. */
export async function acceptancesOf(
  workspace: Workspace,
  claimed: DeliveryWithEnvelopeRow,
): Promise<Memory[]> {
  const handoffs = await handoffsTo(workspace, claimed);
  const ids = handoffs.map(({ id }) => id);
  const records = await findReferringMemories(workspace, ids, "continues-from");
  const { id } = claimed.delivery;
  return records.filter(({ trail = [] }) =>
    trail.some((step) => step.verb === "accept" && step.delivery === id),
  );
}

/** Returns the memories with a relation of this kind to any of the given ones, oldest relation first. */
export async function findReferringMemories(
  { store, name: workspace }: Workspace,
  memories: readonly string[],
  kind: string,
): Promise<Memory[]> {
  const sources = new Set<string>();
  for (const chunk of chunksOf(memories)) {
    const edges = await store.findInbound({
      workspace,
      memories: chunk,
      kinds: [kind],
      limit: MAX_RECORDS,
    });
    for (const { source } of edges) sources.add(source);
  }
  const found: Memory[] = [];
  for (const chunk of chunksOf([...sources])) {
    found.push(...(await store.readMemories(workspace, chunk)).map(memoryOf));
  }
  return found;
}

function isAbout(step: TrailStep, delivery: string): boolean {
  return step.verb === "publish"
    ? step.deliveries.some(([id]) => id === delivery)
    : step.delivery === delivery;
}

/** Returns the targets of a memory's relations of one kind. */
export const targetsOf = ({ relations = [] }: Pick<Memory, "relations">, kind: string): string[] =>
  relations.filter((relation) => relation.kind === kind).map(({ to }) => to);
