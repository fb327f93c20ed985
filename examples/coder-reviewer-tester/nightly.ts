/**
 * Another program on the same folder: a nightly test run that holds the lock while the team works.
 * It is not part of the team but uses the same hub: the team sees its reservations, and it releases
 * the lock when a tester has failed because of it.
 */
import type { Agent } from "batonpass";
import { LOCK, type Project } from "./project.ts";

/** Acquires the lock. Returns a function that runs its next turn. */
export async function nightly(agent: Agent, project: Project): Promise<() => Promise<void>> {
  await agent.handoff({
    to: agent.id,
    task: "nightly-run",
    intent: "The tests of last night have run",
    touches: [LOCK],
  });
  const work = await agent.accept();
  if (work === undefined) throw new Error("The inbox of the nightly run is empty");
  await project.lock(agent.id);
  const before = await newestMistake(agent);
  let runs = true;
  return async () => {
    if (!runs) return;
    await work.renew(); // Keeps its reservations.
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
