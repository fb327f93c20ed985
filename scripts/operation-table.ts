/**
 * Generates the table of operations for the HTTP client: what the client needs of each, as plain
 * data, so that it loads no schemas and no hub. `npm run docs` writes src/operations/table.ts; a
 * test fails if it is stale.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { OPERATIONS } from "../src/operations/index.ts";
import type { Operation } from "../src/operations/operation.ts";
import { Done } from "../src/operations/schemas/common.ts";
import { STREAMS } from "../src/operations/streams.ts";
import type { OperationShape } from "../src/operations/wire/shape.ts";
import { ROOT } from "./tools.ts";

const FILE = join(ROOT, "src/operations/table.ts");

/** Returns what the client needs of an operation. */
function shapeOf(operation: Operation): OperationShape {
  const { route, on, args = [], field, progress, input, output } = operation;
  return {
    route,
    on,
    ...(args.length > 0 && { args }),
    ...(field !== undefined && { field }),
    ...(progress && { progress }),
    ...(Object.keys(input.shape).length > args.length && { options: true }),
    ...(output === Done && { nothing: true }),
  };
}

export const operationTable = (): Readonly<Record<string, OperationShape>> =>
  Object.fromEntries(OPERATIONS.map((operation) => [operation.name, shapeOf(operation)]));

export const streamRoutes = (): Readonly<Record<string, OperationShape["route"]>> =>
  Object.fromEntries(Object.entries(STREAMS).map(([name, { route }]) => [name, route]));

/** Writes the table, formatted like the other sources. */
export function writeOperationTable(): void {
  const text = `/** Generated from the operations by \`npm run docs\`. Do not edit. */
import type { Route } from "./operation.ts";
import type { OperationShape } from "./wire/shape.ts";

export const OPERATION_TABLE: Readonly<Record<string, OperationShape>> = ${JSON.stringify(operationTable())};

export const STREAM_ROUTES: Readonly<Record<string, Route>> = ${JSON.stringify(streamRoutes())};
`;
  writeFileSync(FILE, text);
  const biome = join(ROOT, "node_modules/@biomejs/biome/bin/biome");
  execFileSync(process.execPath, [biome, "check", "--write", FILE], { cwd: ROOT, stdio: "pipe" });
}

if (import.meta.main) writeOperationTable();
