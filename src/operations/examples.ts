/**
 * An example of every operation: a call and its answer, as a hub gave it. `npm run docs` writes
 * examples.json (scripts/operation-examples.ts). It is read when an example is first needed, not at start.
 */
import { readFileSync } from "node:fs";

export interface OperationExample {
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: unknown;
}

let loaded: Readonly<Record<string, OperationExample>> | undefined;

/** Returns the examples by the names of their operations. */
export function operationExamples(): Readonly<Record<string, OperationExample>> {
  loaded ??= JSON.parse(
    readFileSync(new URL("./examples.json", import.meta.url), "utf8"),
  ) as Readonly<Record<string, OperationExample>>;
  return loaded;
}
