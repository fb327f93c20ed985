/**
 * Says what is wrong with a value: which rule it breaks, and the value itself if it is short. The message
 * of a schema is used if it has one of its own; Zod's default messages are replaced.
 */
import type * as z from "zod";

type Issue = z.core.$ZodIssue;

/** Longer texts are not repeated: the caller knows them, and they could be anything. */
const MAX_SHOWN_LENGTH = 24;

const ZOD_DEFAULT = /^(?:Invalid (?:input|option|string)|Too (?:small|big))/;

/** Returns the message for an issue with `input`, without the path. */
export function violationMessage(issue: Issue, input: unknown): string {
  if (issue.code === "invalid_type" && issue.message.endsWith("received undefined")) {
    return "is missing";
  }
  const rule = ZOD_DEFAULT.test(issue.message) ? ruleOf(issue) : issue.message;
  return rule.startsWith("must be") ? `${rule}${got(valueAt(input, issue.path))}` : rule;
}

function ruleOf(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return `must be ${article(nounOf(issue.expected))}`;
    case "invalid_value":
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return tooSmall(issue);
    case "too_big":
      return tooBig(issue);
    default:
      return issue.message;
  }
}

function tooSmall({ origin, minimum, inclusive }: Extract<Issue, { code: "too_small" }>): string {
  switch (unitOf(origin)) {
    case "length":
      return minimum === 1 ? "is empty" : `has fewer than ${counted(minimum, "character")}`;
    case "items":
      return minimum === 1 ? "is empty" : `has fewer than ${counted(minimum, "item")}`;
    case "value":
      return `must be ${inclusive === false ? "greater than" : "at least"} ${minimum}`;
  }
}

function tooBig({ origin, maximum, inclusive }: Extract<Issue, { code: "too_big" }>): string {
  switch (unitOf(origin)) {
    case "length":
      return `has more than ${counted(maximum, "character")}`;
    case "items":
      return `has more than ${counted(maximum, "item")}`;
    case "value":
      return `must be ${inclusive === false ? "less than" : "at most"} ${maximum}`;
  }
}

/** Returns ", got …" with a short value or the type of a longer one; nothing for a longer text. */
function got(value: unknown): string {
  if (typeof value === "string") {
    return value.length <= MAX_SHOWN_LENGTH ? `, got ${JSON.stringify(value)}` : "";
  }
  if (Array.isArray(value)) return ", got an array";
  if (typeof value === "object" && value !== null) return ", got an object";
  return typeof value === "function" || typeof value === "symbol"
    ? `, got a ${typeof value}`
    : `, got ${String(value)}`;
}

const valueAt = (input: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    input,
  );

/** Returns "1 item" or "2 items". */
export const counted = (count: number | bigint, noun: string): string =>
  `${count} ${noun}${Number(count) === 1 ? "" : "s"}`;

/** Returns what the size of a value counts. */
export const unitOf = (origin: string): "length" | "items" | "value" =>
  origin === "string" ? "length" : origin === "array" ? "items" : "value";

/** Zod calls an object with arbitrary keys a "record", and an integer an "int". */
export const nounOf = (expected: string): string =>
  expected === "record" ? "object" : expected === "int" ? "integer" : expected;

/** Returns a noun with its indefinite article. */
export const article = (noun: string): string =>
  /^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`;
