/** Reads the line of a task: all envelopes sent for it, oldest first, each with its deliveries. */
import type { Envelope } from "../../envelope/schema.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { digestOf } from "../../store/redaction.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** One envelope of a line. */
export interface LineStep {
  readonly envelope: Envelope;
  readonly digest: string;
  /** Id of the handoff record on the chain. */
  readonly memory: string;
  readonly sentAt: number;
  /** Deliveries of exactly this envelope; empty if a newer envelope has replaced it. */
  readonly deliveries: readonly Delivery[];
}

/** Returns the line of a task, oldest envelope first; empty if the task is unknown. */
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
