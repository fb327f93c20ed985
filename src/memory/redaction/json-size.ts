/**
 * Estimates the size of a value before any work is spent on it: a limit that is checked after reading every
 * text of an input does not protect the reader. Pure.
 */
import { FORMAT_LIMITS } from "../../base/limits.ts";

/**
 * Returns a lower bound of the bytes that a value takes as JSON: one for each value, and one for each UTF-16
 * unit of its texts and keys. Stops counting above `max`, so that a small object that contains itself many
 * times costs no more than a large one.
 */
export function jsonSizeAtLeast(value: unknown, max: number): number {
  return sizeOf(value, max, 0);
}

function sizeOf(value: unknown, max: number, depth: number): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null || depth > FORMAT_LIMITS.jsonDepth) return 1;
  let size = 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      size += sizeOf(item, max - size, depth + 1);
      if (size > max) break;
    }
    return size;
  }
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    size += key.length + 3 + sizeOf(item, max - size, depth + 1);
    if (size > max) break;
  }
  return size;
}
