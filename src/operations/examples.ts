/**
 * Examples of every operation: a real call and the hub's response, used in the OpenAPI document and the
 * reference. `npm run docs` writes examples.json (scripts/operation-examples.ts); it is read when an example
 * is first needed, not at startup.
 */
import { readFileSync } from "node:fs";

/** The input and output of one example call. */
export interface OperationExample {
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: unknown;
}

let loaded: Readonly<Record<string, OperationExample>> | undefined;

/** Returns all examples by operation name. */
export function operationExamples(): Readonly<Record<string, OperationExample>> {
  loaded ??= JSON.parse(
    readFileSync(new URL("./examples.json", import.meta.url), "utf8"),
  ) as Readonly<Record<string, OperationExample>>;
  return loaded;
}
