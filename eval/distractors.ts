/**
 * Handoffs on unrelated topics, as in a workspace that holds more than conversations: each with the
 * fields and payload of a generated task, accepted and completed with outputs. None answers a
 * question.
 */
import { taskOf } from "../bench/telephone/tasks.ts";
import type { Agent, Hub } from "../src/index.ts";

const SEED = 4711;
const STEPS = 4;

/** Sends the handoffs of the tasks with numbers `from` to `to` (exclusive). */
export async function sendDistractors(hub: Hub, from: number, to: number): Promise<void> {
  const planner = await hub.agent("distracting-planner", {});
  const coder = await hub.agent("distracting-coder", {});
  for (let n = from; n < to; n++) await handOver(planner, coder, n);
}

async function handOver(planner: Agent, coder: Agent, n: number): Promise<void> {
  const { name, intent, items, steps, thread } = taskOf(SEED, n);
  const sentences = items.map(({ sentence }) => sentence);
  const done = steps.slice(0, STEPS).map((step) => step.name);
  await planner.handoff({
    to: coder.id,
    task: name,
    intent: intent.text,
    state: sentences[0] ?? intent.text,
    next: steps.slice(STEPS, 2 * STEPS).map((step) => step.name),
    done,
    constraints: sentences.slice(1, 3),
    doNotRedo: sentences.slice(3, 5),
    payload: { type: "notes", data: { thread: [...thread], rules: sentences.slice(5) } },
  });
  const work = await coder.accept({ task: name });
  await work?.complete({
    summary: `Finished ${name}.`,
    outputs: { steps: done, notes: sentences },
  });
}
