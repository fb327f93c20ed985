/**
 * Another program on the same folder: a nightly test run that holds the lock while the team works. It is not
 * part of the team but uses the same hub: the team sees what it has reserved, and it releases the lock when it
 * sees that a tester failed because of it.
 */
import type { Agent } from "batonpass";
import { LOCK, type Project } from "./project.ts";

/** Takes the lock; the answer gives it a turn. */
export async function nightly(agent: Agent, project: Project): Promise<() => Promise<void>> {
  await agent.handoff({
    to: agent.id,
    task: "nightly-run",
    intent: "The tests of last night have run",
    touches: [LOCK],
  });
  const work = await agent.accept();
  if (work === undefined) throw new Error("nothing waits for the nightly run");
  await project.lock(agent.id);
  const before = await newestMistake(agent);
  let runs = true;
  return async () => {
    if (!runs) return;
    await work.renew(); // It is at work still: what it has reserved stays so.
    if ((await newestMistake(agent)) === before) return;
    runs = false;
    await project.unlock();
    await work.complete({ summary: "Nothing broke overnight." });
  };
}

async function newestMistake(agent: Agent): Promise<string | undefined> {
  const [mistake] = (await agent.memories.recent({ agent: "tester", type: "mistake", limit: 1 }))
    .items;
  return mistake?.id;
}
