/** Lets a crowd of processes loose on one store, all at the same moment. */
import { writeFileSync } from "node:fs";
import { expect } from "vitest";
import { startChild } from "../support/child.ts";
import type { CrowdFact, CrowdFactOf, CrowdPart } from "./crowd-facts.ts";

const CHILD = new URL("./crowd-child.ts", import.meta.url);

export interface CrowdPlace {
  /** The store's. */
  readonly address: string;
  /** A file that is not there yet: it appears when all are ready. */
  readonly start: string;
  /** Hubs that each process opens. */
  readonly hubs?: number;
}

/** Starts them, waits until all are ready, lets them go at once, and returns what each has said. */
export async function crowd(
  part: CrowdPart,
  size: number,
  { address, start, hubs = 1 }: CrowdPlace,
): Promise<CrowdFact[][]> {
  const said = Array.from({ length: size }, (): CrowdFact[] => []);
  let ready = 0;
  const children = said.map((facts, n) =>
    startChild(CHILD, [part, address, start, `agent-${n}`, String(hubs)], (line) => {
      const fact = JSON.parse(line) as CrowdFact;
      facts.push(fact);
      if (fact.kind === "ready" && ++ready === size) writeFileSync(start, "");
    }),
  );
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
