/** Three agents, and a bad record with what was derived from it, for the quarantine tests. */
import type { Agent, Hub } from "../../../src/index.ts";

export const ids = (memories: readonly { readonly id: string }[]): string[] =>
  memories.map(({ id }) => id);

export async function team(hub: Hub) {
  const [ada, ben, eve] = await Promise.all(
    ["ada", "ben", "eve"].map((name) => hub.agent(name, {})),
  );
  if (!ada || !ben || !eve) throw new Error("no team");
  return { hub, ada, ben, eve };
}

/** A bad record, one derived from it, one derived from that, and one that has nothing to do with it. */
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
