/**
 * Canonical JSON (RFC 8785): writes a value so that equal values always give the same text, and so the same
 * digest.
 *
 * Keys are sorted by UTF-16 code unit; numbers and strings are printed as ECMAScript prints them. Values that
 * two stores or two languages could read differently are rejected with their path: NUL, lone surrogates,
 * integers beyond 2^53, non-finite numbers, types that JSON does not have, and cycles.
 *
 * Ordinary values are copied with their keys in order, and the native `JSON.stringify` writes the copy: about half
 * the time of the walk below, which is left for values with something invalid in them, and knows its path. What
 * the schemas have sorted is not even copied.
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
  const ordered = inOrder(free, free === value ? 0 : 1);
  if (ordered === free || (free === value && ordered !== UNFIT)) {
    const text = JSON.stringify(free === value ? ordered : value);
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

/** Stands for a value that only the walk can write, or reject with its path. */
const UNFIT = Symbol("unfit");

/**
 * Returns a value that `JSON.stringify` writes canonically, judged by structure alone: the value itself if its keys
 * are sorted already, otherwise a copy.
 */
function inOrder(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number": {
      const isExact = Number.isInteger(value)
        ? Number.isSafeInteger(value)
        : Number.isFinite(value);
      return isExact ? value : UNFIT;
    }
    case "object":
      if (value === null) return value;
      if (depth >= FORMAT_LIMITS.jsonDepth) return UNFIT;
      return Array.isArray(value)
        ? arrayInOrder(value, depth)
        : objectInOrder(value as Record<string, unknown>, depth);
    default:
      return UNFIT;
  }
}

/** Does not use `map`, which skips holes: a hole in an array is as invalid as any other undefined. */
function arrayInOrder(items: readonly unknown[], depth: number): unknown {
  let copy: unknown[] | undefined;
  for (let i = 0; i < items.length; i++) {
    const item = inOrder(items[i], depth + 1);
    if (item === UNFIT) return UNFIT;
    if (item !== items[i]) copy ??= items.slice(0, i);
    copy?.push(item);
  }
  return copy ?? items;
}

function objectInOrder(value: Record<string, unknown>, depth: number): unknown {
  if (Object.getPrototypeOf(value) !== Object.prototype) return UNFIT;
  const keys = Object.keys(value);
  let copy: Record<string, unknown> | undefined;
  if (!areSorted(keys)) {
    // Whatever the order of assignment, an object lists keys that are array indexes first.
    if (keys.some((key) => key >= "0" && key < ":")) return UNFIT;
    copy = {};
    keys.sort();
  }
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    if (key === "__proto__") return UNFIT;
    const item = value[key];
    if (item === undefined) continue;
    const ordered = inOrder(item, depth + 1);
    if (ordered === UNFIT) return UNFIT;
    if (ordered !== item) copy ??= Object.fromEntries(keys.slice(0, i).map((k) => [k, value[k]]));
    if (copy !== undefined) copy[key] = ordered;
  }
  return copy ?? value;
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

/** Sorts by UTF-16 code unit, and only if needed: most objects already have sorted keys. */
function sortedKeys(value: object): string[] {
  const keys = Object.keys(value);
  return areSorted(keys) ? keys : keys.sort();
}

function areSorted(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) {
    if ((keys[i - 1] as string) > (keys[i] as string)) return false;
  }
  return true;
}

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
