/**
 * What a tool was given and gave back, as a step of a trace can keep it: what is too long is left out
 * with its length and digest, and says so; what no stored text may have is replaced by a mark. What is
 * secret is found by the trace itself, as in everything that is stored.
 */
import { hash } from "node:crypto";
import { FORMAT_LIMITS } from "../base/limits.ts";

/** Of one text, and of all that one side of a call has: two sides fit into a step (`traceBytes`). */
const TEXT_BYTES = 8 * 1024;
const MAX_VALUE_BYTES = 24 * 1024;
/** Leaves room for the record around it. */
const DEPTH = FORMAT_LIMITS.jsonDepth - 4;

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

/** Every store refuses these: a tool's output has them all the same. */
const clean = (text: string): string => text.toWellFormed().replaceAll("\0", "\ufffd");

const omissionOf = (text: string, most: number): object => ({
  omitted: `longer or deeper than a step keeps (${most} bytes)`,
  bytes: Buffer.byteLength(text),
  sha256: hash("sha256", text, "hex"),
});
