/**
 * Stores the state of a harness's session between hooks, because each hook is a separate process. The state
 * is kept in the session's trace: this works on every store, is pruned with the session, and keeps two
 * sessions of one agent apart.
 */

import { isBatonError } from "../base/errors.ts";
import type { DeliveryWithEnvelope } from "../delivery/watch/inbox-listing.ts";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import type { Memory } from "../memory/record.ts";
import type { TraceData, TraceStep } from "../memory/traces/trace.ts";

const REPORTED_TAG = "reported";
const ACCEPTED_TAG = "held";

/** Maximum number of steps searched for reported deliveries. */
const MAX_STEPS_READ = 100;

/** Returns the reported envelope of each delivery, by delivery id; undefined before the first report. */
export async function readReportedEnvelopes(
  agent: Agent,
): Promise<ReadonlyMap<string, string> | undefined> {
  const steps = await stepsWith(agent, REPORTED_TAG, MAX_STEPS_READ);
  if (steps.length === 0) return undefined;
  return new Map(steps.flatMap((step) => inputOf(step) as [string, string][]));
}

/** Returns a step that marks deliveries as reported. A later envelope of a delivery is reported again. */
export const reportedStepOf = (waiting: readonly DeliveryWithEnvelope[]): TraceStep => ({
  kind: "reported",
  tags: [REPORTED_TAG],
  input: waiting.map(({ delivery }) => [delivery.id, delivery.envelope]),
});

/** Returns a step that records the delivery this session accepted. */
export const acceptedStepOf = (delivery: string, task: string): TraceStep => ({
  kind: "held",
  tags: [ACCEPTED_TAG],
  input: delivery,
  task,
});

/** Returns the task of the last accepted delivery, while the agent holds it; else undefined. */
export async function taskOf(hub: Hub, agent: Agent): Promise<string | undefined> {
  const [step] = await stepsWith(agent, ACCEPTED_TAG, 1);
  if (step === undefined) return undefined;
  const delivery = await deliveryOf(hub, String(inputOf(step)));
  const isHeld = delivery?.holder === agent.id && delivery.settledAt === undefined;
  return isHeld ? delivery.task : undefined;
}

/** Returns the delivery; undefined if the id is unknown, because ids are extracted from text. */
export async function deliveryOf(
  hub: Hub,
  id: string,
): Promise<DeliveryWithEnvelope["delivery"] | undefined> {
  try {
    return (await hub.deliveries.get(id)).delivery;
  } catch (error) {
    if (isBatonError(error) && error.code === "unknown_delivery") return undefined;
    throw error;
  }
}

/** Returns whether a step records the state of a session; such a step says nothing about the work. */
export const isStateStep = ({ tags = [] }: Memory): boolean =>
  tags.includes(REPORTED_TAG) || tags.includes(ACCEPTED_TAG);

const inputOf = ({ data }: Memory): unknown => (data as unknown as TraceData).input;

async function stepsWith(agent: Agent, tag: string, limit: number): Promise<readonly Memory[]> {
  try {
    return (await agent.traces.list({ session: agent.instance, tag, limit })).items;
  } catch (error) {
    // The first hook of a session finds no trace.
    if (isBatonError(error) && error.code === "unknown_session") return [];
    throw error;
  }
}
