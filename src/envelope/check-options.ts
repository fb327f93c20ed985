/**
 * Validates options and single arguments without a schema library, for modules that the HTTP client loads
 * too. Errors have the same codes, paths and rules as those of a schema (violations.ts).
 */
import type { BatonError, Violation } from "../base/errors.ts";
import { type IdKind, idPattern } from "../base/ids.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { NAME_PATTERN, NAME_RULE } from "../base/names.ts";
import { rejection } from "./violations.ts";

type Fault = Pick<Violation, "rule" | "message" | "hint">;

/** Returns the fault of a value, or undefined if it is valid. */
export type Check = (value: unknown) => Fault | undefined;

const wrongType = (noun: string): Fault => ({
  rule: "type",
  message: `must be ${noun}`,
  hint: `Pass ${noun}.`,
});

const typed =
  (noun: string, isValid: (value: unknown) => boolean): Check =>
  (value) =>
    isValid(value) ? undefined : wrongType(noun);

/** Accepts true and false. */
export const booleanCheck = typed("a boolean", (value) => typeof value === "boolean");
/** Accepts an `AbortSignal`. */
export const abortSignalCheck = typed("an AbortSignal", (value) => value instanceof AbortSignal);
/** Accepts an object or a function. */
export const objectOrFunctionCheck = typed(
  "an object or a function",
  (value) => typeof value === "object" || typeof value === "function",
);

/** Accepts a function. */
export const functionCheck = typed("a function", (value) => typeof value === "function");

/** Accepts undefined, and otherwise what `check` accepts. */
export const optionalCheck =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value);

/** Accepts one of the given strings. */
export const oneOfCheck =
  (values: readonly string[]): Check =>
  (value) =>
    values.includes(value as string)
      ? undefined
      : {
          rule: "one_of",
          message: `must be one of ${values.join(", ")}`,
          hint: `Use one of ${values.join(", ")}.`,
        };

/** Accepts a finite number of at least `least`. */
export const minimumCheck =
  (least: number): Check =>
  (value) => {
    if (!Number.isFinite(value)) return wrongType("a number");
    if ((value as number) >= least) return undefined;
    return {
      rule: "min_value",
      message: `must be at least ${least}`,
      hint: `Pass a value of at least ${least}.`,
    };
  };

/** Accepts a whole number of at least `least`. */
export const integerCheck =
  (least: number): Check =>
  (value) =>
    Number.isSafeInteger(value) ? minimumCheck(least)(value) : wrongType("a whole number");

/** Accepts a non-empty string. */
export const textCheck: Check = (value) => {
  if (typeof value !== "string") return wrongType("a string");
  return value === "" ? EMPTY : undefined;
};

const EMPTY: Fault = {
  rule: "min_length",
  message: "must not be empty",
  hint: "Pass at least 1 character.",
};

/** Accepts a name (base/names.ts) of at most 128 characters. */
export const nameCheck: Check = (value) => {
  const fault = textCheck(value);
  if (fault !== undefined) return fault;
  const name = value as string;
  const most = FORMAT_LIMITS.nameLength;
  if (name.length > most) {
    return {
      rule: "max_length",
      message: `must have at most ${most} characters`,
      hint: `Shorten it to at most ${most} characters.`,
    };
  }
  return NAME_PATTERN.test(name)
    ? undefined
    : { rule: "format", message: NAME_RULE, hint: "Use a name such as payments-api." };
};

/** Accepts an id of the given kind. */
export const idCheck = (kind: IdKind): Check => {
  const pattern = idPattern(kind);
  return (value) => {
    if (typeof value !== "string") return wrongType("a string");
    if (pattern.test(value)) return undefined;
    return {
      rule: "format",
      message: `must be a ${kind} id`,
      hint: `Copy the id of the ${kind} from an earlier result.`,
    };
  };
};

const UNKNOWN: Fault = {
  rule: "unknown_field",
  message: "is not a known field",
  hint: "Check the spelling, or remove it.",
};

/** Validates an object of options; `what` begins the message. Throws `invalid_input` with every violation. */
export function checkFields(
  options: unknown,
  checks: Readonly<Record<string, Check>>,
  what = "The options",
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw invalidOptions(what, [at("", wrongType("an object"))]);
  }
  const given = options as Readonly<Record<string, unknown>>;
  const known = Object.entries(checks).flatMap(([name, check]) => {
    const fault = check(given[name]);
    return fault === undefined ? [] : [at(name, fault)];
  });
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(checks, name));
  const violations = [...known, ...unknown.map((name) => at(name, UNKNOWN))];
  if (violations.length > 0) throw invalidOptions(what, violations);
}

/** Returns the value if it is valid; otherwise throws `invalid_input`. */
export function checkValue<T>(value: T, check: Check, what: string, path: string): T {
  const fault = check(value);
  if (fault !== undefined) throw invalidOptions(what, [at(path, fault)]);
  return value;
}

const at = (path: string, { rule, message, hint }: Fault): Violation => ({
  path,
  rule,
  message: `${path || "The value"}: ${message}`,
  hint,
});

const invalidOptions = (what: string, violations: readonly Violation[]): BatonError =>
  rejection("invalid_input", what, violations);
