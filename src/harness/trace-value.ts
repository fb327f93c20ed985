/**
 * Shortens inputs and outputs of tools to what a trace step can store. Values that are too long are replaced
 * by a note with length and digest; characters that stores refuse are replaced. Secrets are redacted when
 * the trace is stored, as in all records.
 */
import { hash } from "node:crypto";
import { FORMAT_LIMITS } from "../base/limits.ts";

/** Limits of one text, and of a whole input or output: both fit into one step (`traceBytes`). */
const TEXT_BYTES = 8 * 1024;
const MAX_VALUE_BYTES = 24 * 1024;
/** Maximum nesting; the record around the value uses the other 4 levels. */
const DEPTH = FORMAT_LIMITS.jsonDepth - 4;

/** Returns a storable copy of the value, at most 24 KiB as JSON. */
export function truncateForTrace(value: unknown): unknown {
  const kept = storable(value, 0);
  const text = JSON.stringify(kept) ?? "";
  return Buffer.byteLength(text) <= MAX_VALUE_BYTES ? kept : omissionOf(text, MAX_VALUE_BYTES);
}

function storable(value: unknown, depth: number): unknown {
  if (typeof value === "string") {
    const text = clean(value);
    return Buffer.byteLength(text) <= TEXT_BYTES ? text : omissionOf(text, TEXT_BYTES);
  }
  if (typeof value === "number") {
    const isKept = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
    return isKept ? value : String(value);
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth === DEPTH) return omissionOf(clean(JSON.stringify(value)), TEXT_BYTES);
  if (Array.isArray(value)) return value.map((item) => storable(item, depth + 1));
  const entries = Object.entries(value).map(([key, item]) => [
    clean(key),
    storable(item, depth + 1),
  ]);
  return Object.fromEntries(entries);
}

/** Replaces lone surrogates and NUL, which every store refuses but tool output can contain. */
const clean = (text: string): string => text.toWellFormed().replaceAll("\0", "\ufffd");

const omissionOf = (text: string, most: number): object => ({
  omitted: `exceeds the size or depth of a trace step (${most} bytes)`,
  bytes: Buffer.byteLength(text),
  sha256: hash("sha256", text, "hex"),
});
