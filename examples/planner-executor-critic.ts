/**
 * Planner → executor → critic: one task, three agents, one chain. Each agent learns from the
 * envelope what to do and what not to touch; the result can be traced back to the plan.
 *
 * npm run example -- planner-executor-critic
 */
import { type Agent, type Hub, openHub, type Work } from "batonpass";

const task = "auth-refactor-2026-06-08";

export async function refactorAuth(hub: Hub, say: (text: string) => void): Promise<void> {
  // The agents. An alias is another name for an agent; records have the canonical name.
  await hub.agent("planner", { role: "planner", aliases: ["plan-bot"] });
  await hub.agent("executor", { role: "executor", aliases: ["sandbox-runner"] });
  const planner = await hub.agent("plan-bot");
  const executor = await hub.agent("sandbox-runner");
  const critic = await hub.agent("critic", { role: "critic" });

  // The planner remembers its plan and hands off the part that needs a sandbox.
  const plan = await planner.remember({
    type: "plan",
    task,
    content: "Extract the JWT validator, add rate limiting, run the tests, open a pull request.",
  });
  await planner.handoff({
    to: "sandbox-runner",
    task,
    intent: "Refactor auth without breaking mobile logins",
    done: ["Split into five subtasks"],
    next: ["Extract validateToken()", "Run the tests"],
    constraints: ["Do not modify test fixtures"],
    refs: [plan.id],
  });

  // The executor starts without context, works and hands off, which also completes its delivery.
  await using build = await accept(executor);
  const step = await build.note("Extracted validateToken(); 47 of 47 tests pass.");
  await build.handoff({
    to: "critic",
    action: "needs_review",
    done: [...build.envelope.done, "Extracted validateToken()"],
    next: ["Review the error paths of validateToken()"],
    doNotRedo: ["Running the tests: they pass"],
    constraints: build.envelope.constraints,
    refs: [step.memory.id],
  });

  // The critic still sees the planner's constraint, and completes the task.
  await using review = await accept(critic);
  const rules = review.envelope.constraints.map(({ level, rule }) => `${level}: ${rule}`);
  const { delivery } = await review.complete({ summary: "Approved: no unsafe error path." });

  say(`${task}, seen by the critic: ${rules.join("; ")}\n`);
  if (delivery.settledBy === undefined) throw new Error("completing leaves a record");
  for (const record of await pathTo(critic, delivery.settledBy)) say(record);
}

async function accept(agent: Agent): Promise<Work> {
  const work = await agent.accept({ task });
  if (work === undefined) throw new Error(`The inbox of ${agent.id} is empty`);
  return work;
}

/** Returns the records from the plan to this one, along `continues-from` and `summarizes`. */
async function pathTo(reader: Agent, id: string): Promise<string[]> {
  const { type, agent, content } = await reader.memories.read(id);
  const [origin] = (
    await reader.memories.relations(id, { kinds: ["continues-from", "summarizes"] })
  ).items;
  const before = origin === undefined ? [] : await pathTo(reader, origin.target);
  return [...before, `${type.padEnd(10)} ${agent.padEnd(8)} ${content}`];
}

if (import.meta.main) {
  await using hub = await openHub();
  await refactorAuth(hub, console.log);
}
