/** A task's line: its envelopes in the order they were sent, each with where it stands. */
import type { Envelope } from "../../envelope/schema.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { digestOf } from "../../store/redaction.ts";
import type { Workspace } from "../../workspace/workspace.ts";

export interface LineStep {
  readonly envelope: Envelope;
  readonly digest: string;
  /** The handoff record on the chain. */
  readonly memory: string;
  readonly sentAt: number;
  /** Deliveries of this very envelope; none when a newer one has taken its place. */
  readonly deliveries: readonly Delivery[];
}

export async function readTaskLine(workspace: Workspace, task: string): Promise<LineStep[]> {
  const line = await workspace.store.readLine(workspace.name, task);
  return line.map(({ envelope, deliveries }) => ({
    envelope: parseEnvelope(workspace, envelope),
    digest: digestOf(envelope),
    memory: envelope.memory,
    sentAt: envelope.storedAt,
    deliveries: deliveries.map(deliveryOf),
  }));
}
