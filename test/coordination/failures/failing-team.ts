/** A team with a coordinator, and helpers for failures and their reports. */
import type { Agent, Hub, HubOptions, Work } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, type StoreName, take } from "../../support/hub/support.ts";

export const COORDINATOR_MS = 600_000;

export const PERSON_MS = 24 * 3_600_000;

export const PAUSE_MS = 30_000;

export const random = () => 0.5;

export const BROKEN = {
  type: "missing_type",
  class: "permanent" as const,
  attempted: "npm run build",
  hints: ["Check types.ts"],
  message: "User is not defined",
} satisfies Parameters<Work["fail"]>[0];

interface Setting {
  readonly store: StoreName;
  readonly options?: HubOptions;
  readonly coordinator?: boolean;
}

export async function teamOn({ store, options = {}, coordinator = true }: Setting) {
  const clock = new VirtualClock();
  const hub = await openFresh(store, { clock, random, ...options });
  return { hub, clock, ...(await people(hub, clock, coordinator)) };
}

export async function people(hub: Hub, clock: VirtualClock, coordinator = true) {
  const ada = await hub.agent("ada", { role: "lead" });
  const ben = await hub.agent("ben", { role: "coder" });
  const carl = coordinator ? await hub.agent("carl", { role: "coordinator" }) : ada;
  /** Advances the clock, and runs what is due. */
  const pass = async (ms: number) => {
    clock.advance(ms);
    await hub.deliveries.runDue();
  };
  return { ada, ben, carl, pass };
}

/** Accepts the next work of an agent, and fails it; by default for good. */
export async function fails(
  agent: Agent,
  failure: Parameters<Work["fail"]>[0] = BROKEN,
): Promise<void> {
  const work = await take(agent);
  await work.fail(failure);
}

/** Returns the handoffs of a task that report a failure, open or settled. */
export async function reports(hub: Hub, task: string) {
  const steps = await hub.tasks.line(task);
  return steps.filter(({ envelope }) => envelope.failure !== undefined);
}

export const decisionsIn = async (hub: Hub, task: string) =>
  (await hub.memories.recent({ task, type: "decision" })).items.filter(
    ({ data }) => data?.["decision"] !== undefined,
  );
