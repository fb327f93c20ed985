/** Test data for quarantine: two keepers, an agent, and a bad record with others derived from it. */
import type { Agent, Hub } from "../../../src/index.ts";

export const ids = (memories: readonly { readonly id: string }[]): string[] =>
  memories.map(({ id }) => id);

export async function team(hub: Hub) {
  const [ada, ben, eve] = await Promise.all(
    ["ada", "ben", "eve"].map((name) =>
      hub.agent(name, name === "eve" ? {} : { role: "memory-keeper" }),
    ),
  );
  if (!ada || !ben || !eve) throw new Error("no team");
  return { hub, ada, ben, eve };
}

/** Writes a bad record, one derived from it, one that references that, and an unrelated one. */
export async function poisoned(author: Agent) {
  const bad = await author.remember({ content: "the poison", task: "t" });
  const near = await author.remember({
    content: "near it",
    task: "t",
    relations: [{ kind: "derived-from", to: bad.id }],
  });
  const far = await author.remember({ content: "far", task: "t", refs: [near.id] });
  const clean = await author.remember({ content: "clean", task: "t" });
  return { bad, near, far, clean };
}
