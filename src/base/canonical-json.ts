/**
 * Canonical JSON (RFC 8785).
 *
 * Keys sorted by UTF-16 code unit, numbers and strings as ECMAScript prints them. What two stores
 * or two languages could read differently is refused with its path: NUL, lone surrogates, integers
 * beyond 2^53, non-finite numbers, anything JSON does not have, cycles.
 *
 * A value whose keys already stand in order (schemas declare theirs so) is written by the native
 * `JSON.stringify` in one go: 41 µs an envelope become 13. Everything else, and everything that is
 * wrong, takes the careful walk below, which also knows the path.
 */
import { BatonError, type ErrorCode, type Violation } from "./errors.ts";
import { FORMAT_LIMITS } from "./limits.ts";

/** One walk: where it is, and everything wrong it has met. */
interface Walk {
  readonly ancestors: object[];
  readonly faults: Violation[];
}

/**
 * The canonical text of a value, or a `BatonError` with `code` that names every fault. `free` is
 * the part of the value that no schema has put in order; without it, all of it is looked at.
 */
export function canonicalJson(
  value: unknown,
  code: ErrorCode,
  path = "",
  free: unknown = value,
): string {
  if (isOrderly(free, free === value ? 0 : 1)) {
    const text = JSON.stringify(value);
    // NUL and lone surrogates come out as \\u escapes; so do a few harmless control characters.
    if (!text.includes("\\u")) return text;
  }
  const walk: Walk = { ancestors: [], faults: [] };
  const text = write(value, path, walk);
  const [first] = walk.faults;
  if (first === undefined) return text;
  throw new BatonError(code, { ...first, violations: walk.faults });
}

/** Everything in a value that has no canonical form. */
export function findCanonicalViolations(value: unknown, path = ""): readonly Violation[] {
  const walk: Walk = { ancestors: [], faults: [] };
  write(value, path, walk);
  return walk.faults;
}

/** Notes a fault and goes on, so that all of them are found in one go. */
function fault(walk: Walk, found: Violation): string {
  walk.faults.push(found);
  return "null";
}

/** Whether the native writer would give the canonical text, as far as structure goes. */
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

/** Not with `every`, which skips holes: a hole in an array is as wrong as any other undefined. */
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
        message: `${at(path)} is ${typeof value}, which JSON cannot carry.`,
        hint: "Use strings, finite numbers, booleans, null, arrays and plain objects.",
      });
  }
}

function writeContainer(value: object, path: string, walk: Walk): string {
  if (walk.ancestors.includes(value)) {
    return fault(walk, {
      rule: "circular",
      path,
      message: `${at(path)} contains itself.`,
      hint: "Replace the circular reference by an id.",
    });
  }
  if (walk.ancestors.length >= FORMAT_LIMITS.jsonDepth) {
    return fault(walk, {
      rule: "json_depth",
      path,
      message: `${at(path)} is nested deeper than ${FORMAT_LIMITS.jsonDepth} levels.`,
      hint: "Flatten it, or keep it as an artifact and reference that.",
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
      message: `${at(path)} is a ${prototype?.constructor?.name ?? "special object"}.`,
      hint: "Convert it to a plain object, array or string first.",
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

/** Most objects come with their keys in order (schemas declare them so): look before sorting. */
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
      hint: "The text was cut inside a character: cut it by code points, or use toWellFormed().",
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
      message: `${at(path)} is ${value}.`,
      hint: "JSON has finite numbers only: leave it out or use null.",
    });
  }
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return fault(walk, {
      rule: "safe_integer",
      path,
      message: `${at(path)} is an integer beyond 2^53, which other readers would round.`,
      hint: "Write it as a string.",
    });
  }
  return JSON.stringify(value);
}

const at = (path: string): string => (path === "" ? "The value" : `"${path}"`);
