/**
 * What a harness's session remembers from hook to hook: each hook is a process of its own. It stands
 * in the session's own trace, so it works on every store, is pruned with the session, and two sessions
 * of one agent never mix theirs.
 */
import type { Agent } from "../agent.ts";
import type { Waiting } from "../delivery/waiting.ts";
import { isBatonError } from "../errors.ts";
import type { Hub } from "../hub.ts";
import type { Memory } from "../memory/record.ts";
import type { TraceData, TraceStep } from "../memory/trace.ts";

const TOLD = "told";
const HELD = "held";

/** So many steps back it is looked for. */
const LOOKED_AT = 100;

/** The envelope of each delivery that the session was told of. */
export async function toldBefore(agent: Agent): Promise<ReadonlyMap<string, string>> {
  const steps = await stepsWith(agent, TOLD, LOOKED_AT);
  return new Map(steps.flatMap((step) => inputOf(step) as [string, string][]));
}

/** To be traced: these were told. A later envelope of the same delivery is news again. */
export function toldNow(waiting: readonly Waiting[]): TraceStep[] {
  if (waiting.length === 0) return [];
  const told = waiting.map(({ delivery }) => [delivery.id, delivery.envelope]);
  return [{ kind: "told", tags: [TOLD], input: told }];
}

/** To be traced: this session has accepted a delivery. */
export const heldNow = (delivery: string, task: string): TraceStep => ({
  kind: "held",
  tags: [HELD],
  input: delivery,
  task,
});

/** The task this session works on: of what it accepted last, while it holds it. */
export async function taskOf(hub: Hub, agent: Agent): Promise<string | undefined> {
  const [step] = await stepsWith(agent, HELD, 1);
  if (step === undefined) return undefined;
  const { delivery } = await hub.delivery(String(inputOf(step)));
  const isHeld = delivery.holder === agent.id && delivery.settledAt === 0;
  return isHeld ? delivery.task : undefined;
}

const inputOf = ({ data }: Memory): unknown => (data as unknown as TraceData).input;

async function stepsWith(agent: Agent, tag: string, limit: number): Promise<readonly Memory[]> {
  try {
    return await agent.traces({ session: agent.instance, tag, limit });
  } catch (error) {
    // The first hook of a session: it has no trace yet.
    if (isBatonError(error) && error.code === "unknown_session") return [];
    throw error;
  }
}
