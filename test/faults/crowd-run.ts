/** Lets a crowd of processes loose on one store, all at the same moment. */
import { writeFileSync } from "node:fs";
import { expect } from "vitest";
import { startChild } from "../support/child.ts";
import { type CrowdFact, type CrowdFactOf, type CrowdPart, laterStart } from "./crowd-facts.ts";

const CHILD = new URL("./crowd-child.ts", import.meta.url);

export interface CrowdPlace {
  /** The store's. */
  readonly address: string;
  /** A file that is not there yet: it appears when all are ready. */
  readonly start: string;
  /** Hubs that each process opens. */
  readonly hubs?: number;
  /** What each process that races takes before any of them takes more. */
  readonly share?: number;
}

/** Starts them, waits until all are ready, lets them go at once, and returns what each has said. */
export async function crowd(
  part: CrowdPart,
  size: number,
  { address, start, hubs = 1, share = Number.POSITIVE_INFINITY }: CrowdPlace,
): Promise<CrowdFact[][]> {
  const said = Array.from({ length: size }, (): CrowdFact[] => []);
  let ready = 0;
  let far = 0;
  const children = said.map((facts, n) => {
    const args = [part, address, start, `agent-${n}`, String(hubs), String(share)];
    return startChild(CHILD, args, (line) => {
      const fact = JSON.parse(line) as CrowdFact;
      facts.push(fact);
      if (fact.kind === "ready" && ++ready === size) writeFileSync(start, "");
      const isFar =
        fact.kind === "opened" ||
        (fact.kind === "accepted" && factsOf("accepted", facts).length === share);
      if (isFar && ++far === size) writeFileSync(laterStart(start), "");
    });
  });
  const letGo = (): void => {
    for (const file of [start, laterStart(start)]) writeFileSync(file, "");
  };
  for (const child of children) void child.ended.then(letGo); // The others do not wait for a child that died.
  try {
    for (const end of await Promise.all(children.map((child) => child.ended))) {
      expect(end).toEqual({ code: 0, signal: null, stderr: "" });
    }
  } finally {
    for (const child of children) child.kill();
  }
  expect(factsOf("error", said.flat())).toEqual([]);
  return said;
}

export function factsOf<Kind extends CrowdFact["kind"]>(
  kind: Kind,
  facts: readonly CrowdFact[],
): CrowdFactOf<Kind>[] {
  return facts.filter((fact): fact is CrowdFactOf<Kind> => fact.kind === kind);
}
