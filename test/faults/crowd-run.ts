/** Runs many processes on one store, started at the same moment. */
import { writeFileSync } from "node:fs";
import { expect } from "vitest";
import { startChild } from "../support/child.ts";
import { type CrowdFact, type CrowdFactOf, type CrowdPart, laterStart } from "./crowd-facts.ts";

const CHILD = new URL("./crowd-child.ts", import.meta.url);

export interface CrowdPlace {
  /** Address of the store. */
  readonly address: string;
  /** A file that does not exist yet: it is created when all processes are ready. */
  readonly start: string;
  /** Number of hubs that each process opens. Default: 1. */
  readonly hubs?: number;
  /**
   * Deliveries that each racing process accepts before any of them accepts more. Default: no limit.
   */
  readonly share?: number;
}

/** Starts the processes, releases them together when all are ready, and returns their facts. */
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
  const releaseAll = (): void => {
    for (const file of [start, laterStart(start)]) writeFileSync(file, "");
  };
  for (const child of children) void child.ended.then(releaseAll); // Also when a child dies early.
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
