/**
 * Turns what a validator found into the violations we promise: every one at once, each with its
 * path, a stable rule word and a hint that says what to write instead.
 */
import type * as z from "zod";
import { findCanonicalViolations } from "../base/canonical-json.ts";
import { BatonError, type ErrorCode, type Violation } from "../base/errors.ts";
import { nearestNames } from "../base/nearest-names.ts";

type Issue = z.core.$ZodIssue;

/** `form` is the hint where only the form is wrong, which the message itself tells. */
export function violationsOf(error: z.ZodError, form: string): Violation[] {
  return error.issues.flatMap((issue) => violationsOfIssue(issue, form));
}

export function formatPath(path: readonly PropertyKey[]): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else text += text === "" ? String(part) : `.${String(part)}`;
  }
  return text;
}

function violationsOfIssue(issue: Issue, form: string): Violation[] {
  const path = formatPath(issue.path);
  const say = (rule: string, hint: string, message = issue.message): Violation[] => [
    { path, rule, message: `${path || "The value"}: ${message}`, hint },
  ];
  switch (issue.code) {
    case "invalid_type":
      return issue.message.endsWith("received undefined")
        ? say("required", `Add "${path}" (${issue.expected}).`, "is missing")
        : say("type", `Write ${article(nounOf(issue.expected))}.`);
    case "unrecognized_keys":
      return issue.keys.map((key) => {
        const place = formatPath([...issue.path, key]);
        return {
          path: place,
          rule: "unknown_field",
          message: `${place}: is not a field here`,
          hint: "Check the spelling.",
        };
      });
    case "too_big":
      return say(
        `max_${unit(issue.origin)}`,
        `${issue.inclusive ? "At most" : "Less than"} ${issue.maximum}: shorten or split it.`,
      );
    case "too_small":
      return say(
        `min_${unit(issue.origin)}`,
        `${issue.inclusive ? "At least" : "More than"} ${issue.minimum}.`,
      );
    case "invalid_format":
      return say("format", form);
    case "invalid_value":
      return say("one_of", `Use one of: ${issue.values.map(String).join(", ")}.`);
    case "custom": {
      const { rule, hint } = (issue.params ?? {}) as { rule?: string; hint?: string };
      return say(rule ?? "custom", hint ?? form);
    }
    case "invalid_union":
      return closestBranch(issue, form) ?? say("one_of", "Use one of the forms named.");
    default:
      return say(issue.code, form);
  }
}

/**
 * Of a union's branches, the one the value was most likely meant for: the branch that failed
 * inside the value rather than on its type. Its findings help more than "invalid input".
 */
function closestBranch(
  issue: Extract<Issue, { code: "invalid_union" }>,
  form: string,
): Violation[] | undefined {
  // A union that says itself what it takes knows better than any one of its branches.
  const isNamed = issue.message !== "Invalid input";
  const inside = issue.errors.find((branch) =>
    branch.some((found) => found.path.length > 0 || (!isNamed && found.code !== "invalid_type")),
  );
  return inside?.flatMap((found) =>
    violationsOfIssue({ ...found, path: [...issue.path, ...found.path] }, form),
  );
}

const unit = (origin: string): string =>
  origin === "string" ? "length" : origin === "array" ? "items" : "value";

/** The validator's own word for an object with keys of any name is "record". */
const nounOf = (expected: string): string => (expected === "record" ? "object" : expected);

const article = (noun: string): string => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`);

/** One error for all of them; its message lists the first few and counts the rest. */
export function rejection(
  code: ErrorCode,
  what: string,
  violations: readonly Violation[],
): BatonError {
  const shown = violations.slice(0, 3).map((violation) => violation.message);
  const more =
    violations.length > shown.length ? ` (+${violations.length - shown.length} more)` : "";
  return new BatonError(code, {
    message: `${what} was refused: ${shown.join("; ")}${more}.`,
    hint: violations[0]?.hint ?? "See error.violations.",
    violations,
  });
}

/** Where a schema can be read. */
const FORM_HINTS: Partial<Record<ErrorCode, string>> = {
  invalid_envelope: "See the envelope's schema: baton schema envelope.",
};

/** Parses with a schema, or throws one `BatonError` that names every violation. */
export function parseOrThrow<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  refusal: {
    code: ErrorCode;
    what: string;
    prefix?: string;
    /** The path of a value that is used, not written down: it may be what no text could carry. */
    unwritten?: string;
  },
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const prefix = refusal.prefix ?? "";
  const form = FORM_HINTS[refusal.code] ?? "Write it in that form.";
  const broken = violationsOf(parsed.error, form).map((violation) => ({
    ...violation,
    ...(violation.rule === "unknown_field" && {
      hint: unknownFieldHint(schema, violation, refusal.code),
    }),
    path: joinPath(prefix, violation.path),
  }));
  // What no text could carry (NUL, half characters, cycles …) is told in the same answer.
  const paths = new Set([...broken.map((violation) => violation.path), refusal.unwritten]);
  const faults = findCanonicalViolations(value, prefix).filter((found) => !paths.has(found.path));
  throw rejection(refusal.code, refusal.what, [...broken, ...faults]);
}

/** What to do about a field that does not exist: a similar one, or the list of those that do. */
function unknownFieldHint(schema: z.ZodType, { path, hint }: Violation, code: ErrorCode): string {
  if (code === "invalid_envelope") {
    return "Check the spelling, or put your own data into payload.data or metadata.";
  }
  const { shape } = schema as z.ZodType & { readonly shape?: Readonly<Record<string, unknown>> };
  if (shape === undefined || /[.[]/.test(path)) return hint;
  const fields = Object.keys(shape);
  const [near] = nearestNames(path, fields);
  return near === undefined ? `Known fields: ${fields.join(", ")}.` : `Did you mean "${near}"?`;
}

function joinPath(prefix: string, path: string): string {
  if (prefix === "" || path === "") return prefix + path;
  return path.startsWith("[") ? prefix + path : `${prefix}.${path}`;
}
