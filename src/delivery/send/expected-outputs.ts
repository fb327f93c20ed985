/**
 * Compares the outputs of a result with what the handoff expects: every expected output is present, has its
 * type and format, is not too long, and each of its criteria is confirmed.
 */
import type { Violation } from "../../base/errors.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { rejection } from "../../envelope/violations.ts";
import type { CheckedResult } from "./result.ts";

type ExpectedOutput = Envelope["expects"][number];

/** Returns the violations of an output against the payload type that its format names. */
type CheckFormat = (format: string, output: unknown, path: string) => Promise<readonly Violation[]>;

/** Throws `invalid_result` with every difference from what was expected. */
export async function requireExpectedResult(
  formatFaults: CheckFormat,
  expects: readonly ExpectedOutput[],
  result: CheckedResult,
): Promise<void> {
  const violations = [...resultViolations(expects, result)];
  for (const expected of expects) {
    const output = result.outputs?.[expected.name];
    if (output === undefined || expected.format === undefined) continue;
    violations.push(...(await formatFaults(expected.format, output, pathOf(expected))));
  }
  if (violations.length > 0) throw rejection("invalid_result", "The result", violations);
}

/** The same check without the schemas of formats, which is possible before the work is claimed. */
export function requireExpectedShape(
  expects: readonly ExpectedOutput[],
  result: CheckedResult,
): void {
  const violations = resultViolations(expects, result);
  if (violations.length > 0) throw rejection("invalid_result", "The result", violations);
}

function resultViolations(
  expects: readonly ExpectedOutput[],
  { outputs, criteria }: CheckedResult,
): Violation[] {
  return expects.flatMap((expected) => [
    ...outputViolations(expected, outputs?.[expected.name]),
    ...unmetCriteria(expected, criteria?.[expected.name] ?? []),
  ]);
}

const pathOf = ({ name }: ExpectedOutput): string => `result.outputs.${name}`;

type Kind = "text" | "number" | "boolean" | "list" | "object" | "json" | "approval";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Checks for the value of each type. A type that is not listed accepts any value. */
const KINDS: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  text: (value) => typeof value === "string" && value !== "",
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  list: Array.isArray,
  object: isObject,
  json: (value) => typeof value === "object" && value !== null,
  approval: (value) => isObject(value) && typeof value["approved"] === "boolean",
};

/** Types with a text as their value. */
const TEXTS = ["markdown", "code", "diff", "summary", "file", "url"];

/** Returns whether an output of this type is a text. */
export const isTextType = (type: string): boolean => kindOf(type) === "text";

function kindOf(type: string): Kind | undefined {
  if (TEXTS.includes(type)) return "text";
  return Object.hasOwn(KINDS, type) ? (type as Kind) : undefined;
}

function outputViolations(expected: ExpectedOutput, output: unknown): Violation[] {
  const { name, type, maxLength } = expected;
  const path = pathOf(expected);
  if (output === undefined || output === null) {
    const message = `${path}: is required.`;
    return [{ path, rule: "required", message, hint: `Pass outputs: { ${name}: … }.` }];
  }
  const kind = kindOf(type);
  if (kind !== undefined && !KINDS[kind](output)) {
    const hint =
      kind === "approval" ? "Pass { approved: true } or { approved: false }." : `Pass a ${kind}.`;
    return [{ path, rule: "type", message: `${path}: is not of type ${type}.`, hint }];
  }
  const length = typeof output === "string" ? output.length : JSON.stringify(output).length;
  if (maxLength === undefined || length <= maxLength) return [];
  const message = `${path}: has ${length} characters, but at most ${maxLength} are allowed.`;
  return [{ path, rule: "max_length", message, hint: "Shorten it." }];
}

function unmetCriteria({ name, criteria }: ExpectedOutput, met: readonly string[]): Violation[] {
  return criteria
    .filter((criterion) => !met.includes(criterion))
    .map((criterion) => ({
      path: `result.criteria.${name}`,
      rule: "criterion",
      message: `result.criteria.${name}: "${criterion}" is not confirmed.`,
      hint: `Check it, then pass criteria: { ${name}: [${JSON.stringify(criterion)}] }; if it cannot be met, fail or decline.`,
    }));
}
