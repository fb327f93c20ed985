/**
 * Generates the examples of the OpenAPI description and the reference page: runs the sample call of
 * every operation (test/operations/samples) on a hub with a fixed clock and fixed ids, so that the
 * results never vary. `npm run docs` writes src/operations/examples.json; a test fails if it is
 * stale.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LocalHub } from "../src/hub/hub.ts";
import type { OperationExample } from "../src/operations/examples.ts";
import { OPERATIONS } from "../src/operations/index.ts";
import type { Operation } from "../src/operations/operation.ts";
import { runOperation } from "../src/operations/run.ts";
import { memoryHub } from "../src/testing/memory-hub.ts";
import { sampleCall } from "../test/operations/samples/index.ts";
import type { Input } from "../test/operations/samples/input.ts";
import { ROOT } from "./tools.ts";

const FILE = join(ROOT, "src/operations/examples.json");
const START = Date.UTC(2026, 0, 12, 9, 30);

/** Maximum bytes of JSON in one example; longer lists are cut to LIST_ITEMS. */
export const EXAMPLE_BYTES = 4_096;
const LIST_ITEMS = 2;
const TEXT_CHARACTERS = 1_000;
const DECIMALS = 3;

/** Matches access tokens: they are random, and secret scanners report them. */
const TOKEN = /\b(baton_|ghp_)[\w-]{20,}/g;

export async function generateExamples(): Promise<Readonly<Record<string, OperationExample>>> {
  const examples: Record<string, OperationExample> = {};
  for (const operation of OPERATIONS) examples[operation.name] = await exampleOf(operation);
  return examples;
}

async function exampleOf(operation: Operation): Promise<OperationExample> {
  await using opened = memoryHub({ seed: 1, start: START });
  if (!(opened.hub instanceof LocalHub)) throw new Error("expected a hub in this process");
  const { acting, input } = await sampleCall(operation.name, opened.hub);
  const sent = asJson(input) as Input;
  const example = { input: sent, output: asJson(await runOperation(operation, acting, sent)) };
  const readable = shortened(example, Number.POSITIVE_INFINITY);
  const isSmall = JSON.stringify(readable).length <= EXAMPLE_BYTES;
  return (isSmall ? readable : shortened(example, LIST_ITEMS)) as OperationExample;
}

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Shortens long texts and lists, rounds numbers and hides tokens. */
function shortened(value: unknown, items: number): unknown {
  if (typeof value === "string") return shortText(value.replace(TOKEN, "$1…"));
  if (typeof value === "number") return Number(value.toFixed(DECIMALS));
  if (Array.isArray(value)) return value.slice(0, items).map((each) => shortened(each, items));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, shortened(each, items)]),
  );
}

const shortText = (text: string): string =>
  text.length <= TEXT_CHARACTERS
    ? text
    : `${text.slice(0, text.lastIndexOf(" ", TEXT_CHARACTERS))} …`;

/** Writes the examples, formatted like the other sources. */
export async function writeOperationExamples(): Promise<void> {
  writeFileSync(FILE, JSON.stringify(await generateExamples()));
  const biome = join(ROOT, "node_modules/@biomejs/biome/bin/biome");
  execFileSync(process.execPath, [biome, "check", "--write", FILE], { cwd: ROOT, stdio: "pipe" });
}

if (import.meta.main) await writeOperationExamples();
