/**
 * Converts the issues of a Zod schema to the violations of a `BatonError`: all of them at once, each with its
 * path, a stable rule name and a hint that says what to pass instead.
 */
import type * as z from "zod";
import { findCanonicalViolations } from "../base/canonical-json.ts";
import { BatonError, type ErrorCode, trimFullStop, type Violation } from "../base/errors.ts";
import { nearestNames } from "../base/nearest-names.ts";
import { article, counted, nounOf, unitOf, violationMessage } from "./violation-message.ts";

type Issue = z.core.$ZodIssue;

/** The `after` of every list is the cursor of its pages. */
const CURSOR_HINT = "Pass next of the previous page; omit after for the first page.";

/** Returns the violations of an input. `form` is the hint if only the format is wrong. */
function violationsOf(error: z.ZodError, { value, form }: Refused): Violation[] {
  return error.issues.flatMap((issue) => violationsOfIssue(issue, { value, form }));
}

/** The refused input, and the hint if only its format is wrong. */
interface Refused {
  readonly value: unknown;
  readonly form: string;
}

/** Formats a path: `["constraints", 2, "rule"]` becomes `constraints[2].rule`. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else text += text === "" ? String(part) : `.${String(part)}`;
  }
  return text;
}

function violationsOfIssue(issue: Issue, refused: Refused): Violation[] {
  const { form } = refused;
  const path = formatPath(issue.path);
  const message = violationMessage(issue, refused.value);
  const say = (rule: string, hint: string): Violation[] => [
    { path, rule, message: path === "" ? message : `${path}: ${message}`, hint },
  ];
  switch (issue.code) {
    case "invalid_type":
      return issue.message.endsWith("received undefined")
        ? say("required", `Add "${path}" (${nounOf(issue.expected)}).`)
        : say("type", `Pass ${article(nounOf(issue.expected))}.`);
    case "unrecognized_keys":
      return issue.keys.map((key) => {
        const place = formatPath([...issue.path, key]);
        return {
          path: place,
          rule: "unknown_field",
          message: `${place}: is not a known field`,
          hint: "Check the spelling, or remove it.",
        };
      });
    case "too_big":
      return say(`max_${unitOf(issue.origin)}`, tooBigHint(issue));
    case "too_small":
      return say(`min_${unitOf(issue.origin)}`, tooSmallHint(issue));
    case "invalid_format":
      return say("format", formHint(path, message, form));
    case "invalid_value":
      return say("one_of", `Use one of ${issue.values.map(String).join(", ")}.`);
    case "custom": {
      const { rule, hint } = (issue.params ?? {}) as { rule?: string; hint?: string };
      return say(rule ?? "custom", hint ?? formHint(path, message, form));
    }
    case "invalid_union":
      return (
        closestBranch(issue, refused) ??
        say("one_of", "Use one of the forms that the message lists.")
      );
    default:
      return say(issue.code, form);
  }
}

function formHint(path: string, message: string, form: string): string {
  if (path === "after") return CURSOR_HINT;
  return /\([a-z]+_…\)/.test(message) ? "Pass the whole id, as another call returned it." : form;
}

/**
 * Returns the violations of the union branch that the value was probably written for: the branch that failed
 * inside the value rather than on its type. They help more than "invalid input".
 */
function closestBranch(
  issue: Extract<Issue, { code: "invalid_union" }>,
  refused: Refused,
): Violation[] | undefined {
  // A union with a custom message describes what it accepts better than any single branch.
  const isNamed = issue.message !== "Invalid input";
  const inside = issue.errors.find((branch) =>
    branch.some((found) => found.path.length > 0 || (!isNamed && found.code !== "invalid_type")),
  );
  return inside?.flatMap((found) =>
    violationsOfIssue({ ...found, path: [...issue.path, ...found.path] }, refused),
  );
}

/** Says how to get below a maximum: by length, by number of items or by value. */
function tooBigHint(issue: Extract<Issue, { code: "too_big" }>): string {
  const { maximum, inclusive } = issue;
  switch (unitOf(issue.origin)) {
    case "length":
      return `Shorten it to at most ${counted(maximum, "character")}, or split it.`;
    case "items":
      return `Pass at most ${counted(maximum, "item")}.`;
    case "value":
      return `Pass a value ${inclusive === false ? "less than" : "of at most"} ${maximum}.`;
  }
}

/** Says how to reach a minimum: by length, by number of items or by value. */
function tooSmallHint(issue: Extract<Issue, { code: "too_small" }>): string {
  const { minimum, inclusive } = issue;
  switch (unitOf(issue.origin)) {
    case "length":
      return `Pass at least ${counted(minimum, "character")}.`;
    case "items":
      return `Pass at least ${counted(minimum, "item")}.`;
    case "value":
      return `Pass a value ${inclusive === false ? "greater than" : "of at least"} ${minimum}.`;
  }
}

/** Returns one error for all violations; its message lists the first three and counts the rest. */
export function rejection(
  code: ErrorCode,
  what: string,
  violations: readonly Violation[],
): BatonError {
  const shown = violations.slice(0, 3).map(({ message }) => trimFullStop(message));
  const more =
    violations.length > shown.length ? ` (+${violations.length - shown.length} more)` : "";
  return new BatonError(code, {
    message: `${what} failed validation: ${shown.join("; ")}${more}.`,
    hint: violations[0]?.hint ?? "See error.violations.",
    violations,
  });
}

/** Hints for an input in the wrong format: where to read the schema. */
const FORM_HINTS: Partial<Record<ErrorCode, string>> = {
  invalid_envelope: "See the envelope schema (baton schema envelope).",
};

/**
 * Returns the value as the schema parses it. Throws one `BatonError` with `code` and every violation; `what`
 * begins the message, and `prefix` the path of each violation.
 */
export function parseOrThrow<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  refusal: {
    code: ErrorCode;
    what: string;
    prefix?: string;
    /** Path of a value that is used but not stored: it may contain what JSON cannot represent. */
    unwritten?: string;
  },
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const prefix = refusal.prefix ?? "";
  const form = FORM_HINTS[refusal.code] ?? "Use the format that the message describes.";
  const broken = violationsOf(parsed.error, { value, form }).map((violation) => ({
    ...violation,
    ...(violation.rule === "unknown_field" && {
      hint: unknownFieldHint(schema, violation, refusal.code),
    }),
    path: joinPath(prefix, violation.path),
  }));
  const renamed = renameHint(broken);
  // The same error reports what JSON cannot represent (NUL, lone surrogates, cycles …).
  const paths = new Set([...broken.map((violation) => violation.path), refusal.unwritten]);
  const faults = findCanonicalViolations(value, prefix).filter((found) => !paths.has(found.path));
  throw rejection(refusal.code, refusal.what, [
    ...broken.map((each) => (renamed === undefined ? each : { ...each, hint: renamed })),
    ...faults,
  ]);
}

/** Returns the hint if one field is missing and one is unknown: it was probably passed by another name. */
function renameHint(broken: readonly Violation[]): string | undefined {
  const missing = broken.find(({ rule }) => rule === "required");
  const unknown = broken.find(({ rule }) => rule === "unknown_field");
  if (missing === undefined || unknown === undefined || broken.length !== 2) return undefined;
  return `Pass "${missing.path}" instead of "${unknown.path}".`;
}

/** Suggests the nearest known field; otherwise where to put other data, or the list of known fields. */
function unknownFieldHint(schema: z.ZodType, { path, hint }: Violation, code: ErrorCode): string {
  const steps = path.split(/[.[\]]+/).filter((step) => step !== "");
  const [name = "", ...outer] = steps.toReversed();
  const fields = fieldsAt(schema, outer.toReversed());
  const near = nearestNames(name, fields).find((field) => isSimilar(name, field));
  if (near !== undefined) return `Did you mean "${near}"?`;
  if (code === "invalid_envelope" && outer.length === 0) {
    return "Remove it, or put your own data into payload.data or metadata.";
  }
  return fields.length === 0 ? hint : `Known fields: ${fields.join(", ")}.`;
}

/** Returns true if two names share most of their letters: by edit distance alone, "id" is close to "to". */
function isSimilar(name: string, field: string): boolean {
  if (field.includes(name)) return true;
  const left = [...field.toLowerCase()];
  const shared = [...name.toLowerCase()].filter((letter) => {
    const at = left.indexOf(letter);
    return at !== -1 && left.splice(at, 1).length > 0;
  });
  return shared.length > Math.max(name.length, field.length) / 2;
}

type Def = Readonly<Record<string, unknown>> & { readonly type: string };

/** Returns the names of the fields that a schema defines at a path; none if no object is there. */
export function fieldsAt(schema: z.ZodType, path: readonly string[]): string[] {
  const def = schema.def as unknown as Def;
  const [step, ...rest] = path;
  switch (def.type) {
    case "object": {
      const shape = def["shape"] as Readonly<Record<string, z.ZodType>>;
      if (step === undefined) return Object.keys(shape);
      const field = Object.hasOwn(shape, step) ? shape[step] : undefined;
      return field === undefined ? [] : fieldsAt(field, rest);
    }
    case "array":
      return step === undefined ? [] : fieldsAt(def["element"] as z.ZodType, rest);
    case "union":
      return unique((def["options"] as z.ZodType[]).flatMap((each) => fieldsAt(each, path)));
    case "default":
    case "optional":
      return fieldsAt(def["innerType"] as z.ZodType, path);
    case "pipe":
      return unique(["in", "out"].flatMap((side) => fieldsAt(def[side] as z.ZodType, path)));
    default:
      return [];
  }
}

const unique = (names: readonly string[]): string[] => [...new Set(names)];

function joinPath(prefix: string, path: string): string {
  if (prefix === "" || path === "") return prefix + path;
  return path.startsWith("[") ? prefix + path : `${prefix}.${path}`;
}
