/** Where a piece of work ended up: handed on, it goes on as another delivery. */
import { memoryOf } from "../memory/record.ts";
import type { DeliveryRow } from "../store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";

/**
 * The delivery itself, or the one it was handed on as, or the one that took its place, and so on;
 * undefined when there is none.
 */
export async function endOfLine(
  workspace: Workspace,
  id: string,
): Promise<DeliveryWithEnvelopeRow | undefined> {
  let end = await workspace.store.findDelivery(workspace.name, id);
  const seen = new Set<string>();
  while (end !== undefined && !seen.has(end.delivery.id)) {
    seen.add(end.delivery.id);
    const next = await nextDeliveryOf(workspace, end.delivery);
    if (next === undefined) return end;
    const further = await workspace.store.findDelivery(workspace.name, next);
    if (further === undefined) return end;
    end = further;
  }
  return end;
}

async function nextDeliveryOf(
  workspace: Workspace,
  delivery: DeliveryRow,
): Promise<string | undefined> {
  switch (delivery.state) {
    case "completed":
      return findHandedOnDelivery(workspace, delivery.settledBy);
    case "superseded":
      return findReplacingDelivery(workspace, delivery);
    default:
      return undefined;
  }
}

/** The delivery that took its place: the handoff that began it says so. */
async function findReplacingDelivery(
  { store, name }: Workspace,
  { id, task }: DeliveryRow,
): Promise<string | undefined> {
  const line = await store.readLine(name, task);
  const records = line.map(({ envelope }) => envelope.memory);
  const steps = (await store.readMemories(name, records)).flatMap(
    (row) => memoryOf(row).trail ?? [],
  );
  const step = steps.find((each) => each.verb === "send" && each.instead === id);
  return step?.verb === "send" ? step.delivery : undefined;
}

/** The delivery that a completing record began; undefined when it only completed. */
export async function findHandedOnDelivery(
  { store, name }: Workspace,
  settledBy: string,
): Promise<string | undefined> {
  const [row] = await store.readMemories(name, [settledBy]);
  for (const step of row === undefined ? [] : (memoryOf(row).trail ?? [])) {
    if (step.verb === "send" || step.verb === "extend") return step.delivery;
    if (step.verb === "publish") return step.deliveries[0]?.[0];
  }
  return undefined;
}
