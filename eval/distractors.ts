/**
 * Handoffs about other matters, as a team has them that also keeps conversations: each with the fields
 * and the payload of a made-up task, accepted and completed with outputs. None answers a question.
 */
import { taskOf } from "../bench/telephone/tasks.ts";
import type { Agent, Hub } from "../src/index.ts";

const SEED = 4711;
const STEPS = 4;

/** Sends the handoffs of tasks from one number to another. */
export async function sendDistractors(hub: Hub, from: number, to: number): Promise<void> {
  const planner = await hub.agent("distracting-planner", {});
  const coder = await hub.agent("distracting-coder", {});
  for (let n = from; n < to; n++) await handOver(planner, coder, n);
}

async function handOver(planner: Agent, coder: Agent, n: number): Promise<void> {
  const { name, intent, items, steps, thread } = taskOf(SEED, n);
  const said = items.map(({ sentence }) => sentence);
  const done = steps.slice(0, STEPS).map((step) => step.name);
  await planner.handoff({
    to: coder.id,
    task: name,
    intent: intent.text,
    state: said[0] ?? intent.text,
    next: steps.slice(STEPS, 2 * STEPS).map((step) => step.name),
    done,
    constraints: said.slice(1, 3),
    doNotRedo: said.slice(3, 5),
    payload: { type: "notes", data: { thread: [...thread], rules: said.slice(5) } },
  });
  const work = await coder.accept({ task: name });
  await work?.complete({ summary: `Finished ${name}.`, outputs: { steps: done, notes: said } });
}
