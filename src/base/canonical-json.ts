/**
 * Canonical JSON (RFC 8785): writes a value so that equal values always give the same text, and so the same
 * digest.
 *
 * Keys are sorted by UTF-16 code unit; numbers and strings are printed as ECMAScript prints them. Values that
 * two stores or two languages could read differently are rejected with their path: NUL, lone surrogates,
 * integers beyond 2^53, non-finite numbers, types that JSON does not have, and cycles.
 *
 * If the keys of a value are already sorted (the schemas declare theirs sorted), the native `JSON.stringify`
 * writes it in one pass: 13 µs per envelope instead of 41. All other values, and all invalid ones, go through
 * the slower walk below, which also knows the path.
 */
import { BatonError, type ErrorCode, type Violation } from "./errors.ts";
import { FORMAT_LIMITS } from "./limits.ts";

/**
 * The state of one walk over a value: the containers around the current position, and the faults found so
 * far.
 */
interface Walk {
  readonly ancestors: object[];
  readonly faults: Violation[];
}

/**
 * Returns the canonical text of a value. `free` is the part of the value whose keys no schema has sorted
 * (default: all of it). Throws a `BatonError` with `code` and one violation per fault.
 */
export function canonicalJson(
  value: unknown,
  code: ErrorCode,
  path = "",
  free: unknown = value,
): string {
  if (isOrderly(free, free === value ? 0 : 1)) {
    const text = JSON.stringify(value);
    // NUL and lone surrogates are printed as \\u escapes; so are a few harmless control characters.
    if (!text.includes("\\u")) return text;
  }
  const walk: Walk = { ancestors: [], faults: [] };
  const text = write(value, path, walk);
  const [first] = walk.faults;
  if (first === undefined) return text;
  throw new BatonError(code, { ...first, violations: walk.faults });
}

/** Returns a violation for everything in a value that has no canonical form. */
export function findCanonicalViolations(value: unknown, path = ""): readonly Violation[] {
  const walk: Walk = { ancestors: [], faults: [] };
  write(value, path, walk);
  return walk.faults;
}

/** Records a fault and continues, so that one walk finds all of them. */
function fault(walk: Walk, found: Violation): string {
  walk.faults.push(found);
  return "null";
}

/** Returns true if `JSON.stringify` would give the canonical text, judged by structure alone. */
function isOrderly(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));
    case "object":
      if (value === null) return true;
      if (depth >= FORMAT_LIMITS.jsonDepth) return false;
      return Array.isArray(value)
        ? isOrderlyArray(value, depth)
        : isOrderlyObject(value as Record<string, unknown>, depth);
    default:
      return false;
  }
}

/** Does not use `every`, which skips holes: a hole in an array is as invalid as any other undefined. */
function isOrderlyArray(items: readonly unknown[], depth: number): boolean {
  for (const item of items) {
    if (!isOrderly(item, depth + 1)) return false;
  }
  return true;
}

function isOrderlyObject(value: Record<string, unknown>, depth: number): boolean {
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  let previous = "";
  for (const key of Object.keys(value)) {
    if (key < previous || key === "__proto__") return false;
    previous = key;
    const item = value[key];
    if (item !== undefined && !isOrderly(item, depth + 1)) return false;
  }
  return true;
}

function write(value: unknown, path: string, walk: Walk): string {
  switch (typeof value) {
    case "string":
      return writeString(value, path, walk);
    case "number":
      return writeNumber(value, path, walk);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      return value === null ? "null" : writeContainer(value, path, walk);
    default:
      return fault(walk, {
        rule: "json",
        path,
        message: `${at(path)} is of type ${typeof value}, which JSON cannot represent.`,
        hint: "Use only strings, finite numbers, booleans, null, arrays and plain objects.",
      });
  }
}

function writeContainer(value: object, path: string, walk: Walk): string {
  if (walk.ancestors.includes(value)) {
    return fault(walk, {
      rule: "circular",
      path,
      message: `${at(path)} contains itself.`,
      hint: "Replace the circular reference with an id.",
    });
  }
  if (walk.ancestors.length >= FORMAT_LIMITS.jsonDepth) {
    return fault(walk, {
      rule: "json_depth",
      path,
      message: `${at(path)} is nested deeper than ${FORMAT_LIMITS.jsonDepth} levels.`,
      hint: "Flatten it, or store it as an artifact and reference the artifact.",
    });
  }
  walk.ancestors.push(value);
  const text = Array.isArray(value)
    ? writeArray(value, path, walk)
    : writeObject(value as Record<string, unknown>, path, walk);
  walk.ancestors.pop();
  return text;
}

function writeArray(items: readonly unknown[], path: string, walk: Walk): string {
  let text = "[";
  for (let i = 0; i < items.length; i++) {
    if (i > 0) text += ",";
    text += write(items[i], `${path}[${i}]`, walk);
  }
  return `${text}]`;
}

function writeObject(value: Record<string, unknown>, path: string, walk: Walk): string {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    return fault(walk, {
      rule: "json",
      path,
      message: `${at(path)} is a ${prototype?.constructor?.name ?? "special object"}, not a plain object.`,
      hint: "Convert it to a plain object, array or string before you pass it.",
    });
  }
  let text = "";
  for (const key of sortedKeys(value)) {
    const item = value[key];
    if (item === undefined) continue;
    const place = path === "" ? key : `${path}.${key}`;
    if (key === "__proto__") {
      fault(walk, {
        rule: "reserved_key",
        path: place,
        message: `${at(place)} is a reserved key.`,
        hint: "Rename the key.",
      });
    }
    text += `${text === "" ? "" : ","}${writeString(key, place, walk)}:${write(item, place, walk)}`;
  }
  return `{${text}}`;
}

/** Sorts only if needed: most objects already have sorted keys, because the schemas declare them sorted. */
function sortedKeys(value: object): string[] {
  const keys = Object.keys(value);
  for (let i = 1; i < keys.length; i++) {
    if ((keys[i - 1] as string) > (keys[i] as string)) return keys.sort(byCodeUnit);
  }
  return keys;
}

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function writeString(value: string, path: string, walk: Walk): string {
  if (!value.isWellFormed()) {
    return fault(walk, {
      rule: "well_formed",
      path,
      message: `${at(path)} contains half of a surrogate pair.`,
      hint: "Truncate text by code points, or repair it with toWellFormed().",
    });
  }
  if (value.includes("\0")) {
    return fault(walk, {
      rule: "no_nul",
      path,
      message: `${at(path)} contains a NUL character.`,
      hint: "Remove it, or encode binary data as base64.",
    });
  }
  return JSON.stringify(value);
}

function writeNumber(value: number, path: string, walk: Walk): string {
  if (!Number.isFinite(value)) {
    return fault(walk, {
      rule: "finite",
      path,
      message: `${at(path)} is ${value}, and JSON has finite numbers only.`,
      hint: "Omit the field or use null.",
    });
  }
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return fault(walk, {
      rule: "safe_integer",
      path,
      message: `${at(path)} is an integer beyond 2^53, which other readers would round.`,
      hint: "Pass it as a string.",
    });
  }
  return JSON.stringify(value);
}

const at = (path: string): string => (path === "" ? "The value" : `"${path}"`);
