/** Follows a delivery to the end of its line: work that was handed on continues as another delivery. */
import { memoryOf } from "../memory/record.ts";
import type { DeliveryRow } from "../store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";

/**
 * Returns the delivery itself, or the last one it was handed on to or replaced by; undefined if the id is
 * unknown.
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

/** Returns the delivery that replaced this one, which the replacing handoff records. */
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

/** Returns the delivery that a completing record started; undefined if it only completed. */
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
