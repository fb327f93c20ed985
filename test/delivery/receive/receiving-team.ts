/** Three agents and an id helper that the tests of receiving share. */
import type { Hub } from "../../../src/index.ts";

export const idsOf = (records: readonly { readonly id: string }[]): string[] =>
  records.map(({ id }) => id);

export async function team(hub: Hub) {
  const [ada, ben, eve] = await Promise.all(
    ["ada", "ben", "eve"].map((name) => hub.agent(name, {})),
  );
  if (!ada || !ben || !eve) throw new Error("no team");
  return { hub, ada, ben, eve };
}
