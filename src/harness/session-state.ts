/**
 * What a harness's session remembers from hook to hook: each hook is a process of its own. It stands
 * in the session's own trace, so it works on every store, is pruned with the session, and two sessions
 * of one agent never mix theirs.
 */

import { isBatonError } from "../base/errors.ts";
import type { DeliveryWithEnvelope } from "../delivery/watch/inbox-listing.ts";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import type { Memory } from "../memory/record.ts";
import type { TraceData, TraceStep } from "../memory/traces/trace.ts";

const REPORTED_TAG = "told";
const ACCEPTED_TAG = "held";

/** So many steps back it is looked for. */
const MAX_STEPS_READ = 100;

/** The envelope of each delivery that the session was told of; undefined where it was told nothing. */
export async function readReportedEnvelopes(
  agent: Agent,
): Promise<ReadonlyMap<string, string> | undefined> {
  const steps = await stepsWith(agent, REPORTED_TAG, MAX_STEPS_READ);
  if (steps.length === 0) return undefined;
  return new Map(steps.flatMap((step) => inputOf(step) as [string, string][]));
}

/** To be traced: these were told. A later envelope of the same delivery is news again. */
export const reportedStepOf = (waiting: readonly DeliveryWithEnvelope[]): TraceStep => ({
  kind: "told",
  tags: [REPORTED_TAG],
  input: waiting.map(({ delivery }) => [delivery.id, delivery.envelope]),
});

/** To be traced: this session has accepted a delivery. */
export const acceptedStepOf = (delivery: string, task: string): TraceStep => ({
  kind: "held",
  tags: [ACCEPTED_TAG],
  input: delivery,
  task,
});

/** The task this session works on: of what it accepted last, while it holds it. */
export async function taskOf(hub: Hub, agent: Agent): Promise<string | undefined> {
  const [step] = await stepsWith(agent, ACCEPTED_TAG, 1);
  if (step === undefined) return undefined;
  const delivery = await deliveryOf(hub, String(inputOf(step)));
  const isHeld = delivery?.holder === agent.id && delivery.settledAt === undefined;
  return isHeld ? delivery.task : undefined;
}

/** What has the form of an id need not be one. */
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

const inputOf = ({ data }: Memory): unknown => (data as unknown as TraceData).input;

async function stepsWith(agent: Agent, tag: string, limit: number): Promise<readonly Memory[]> {
  try {
    return (await agent.traces.list({ session: agent.instance, tag, limit })).items;
  } catch (error) {
    // The first hook of a session: it has no trace yet.
    if (isBatonError(error) && error.code === "unknown_session") return [];
    throw error;
  }
}
