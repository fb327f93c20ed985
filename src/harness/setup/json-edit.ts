/**
 * Changes one value of a JSON file and keeps the rest byte for byte: order, indentation and line endings.
 * Works on the text, which is parsed first, so that an invalid file is refused before any change.
 */
import { isDeepStrictEqual } from "node:util";
import { unusableFile } from "./file-changes.ts";

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}
/** Keys of objects and indexes of lists, starting at the root. */
export type JsonPath = readonly (string | number)[];

/** Some editors write it at the start of a file; it is kept. */
const BYTE_ORDER_MARK = /^\ufeff/;

/** Parses a file; a missing (undefined) or empty file is an empty object. Throws `file_unusable`. */
export function parseJson(text: string | undefined, file: string): JsonObject {
  if (text === undefined || text.trim() === "") return {};
  let parsed: Json;
  try {
    parsed = JSON.parse(text.replace(BYTE_ORDER_MARK, "")) as Json;
  } catch (error) {
    throw unusableFile(file, (error as Error).message, error);
  }
  if (isObject(parsed)) return parsed;
  throw unusableFile(file, "it is not a JSON object");
}

/** Returns whether a value is an object, not a list or null. */
export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the value at a path; undefined if there is none. */
export function valueAt(root: Json, path: JsonPath): Json | undefined {
  return path.reduce<Json | undefined>((value, key) => {
    if (Array.isArray(value) && typeof key === "number") return value[key];
    return isObject(value) && Object.hasOwn(value, key) ? value[String(key)] : undefined;
  }, root);
}

/** Sets a value and creates missing parents. An index one past the end appends an item. */
export function setAt(text: string | undefined, path: JsonPath, value: Json): string {
  if (text === undefined || text.trim() === "")
    return `${JSON.stringify(nested(path, value), null, 2)}\n`;
  const root = spanOf(text);
  let span = root;
  for (const [depth, key] of path.entries()) {
    const child = childOf(span, key);
    if (child === undefined) {
      return inserted(text, root, span, { key, value: nested(path.slice(depth + 1), value) });
    }
    span = child.value;
  }
  const now = JSON.parse(text.slice(span.start, span.end)) as Json;
  if (isDeepStrictEqual(now, value)) return text;
  const shown = rendered(value, style(text, root), indentAt(text, span.start));
  return text.slice(0, span.start) + shown + text.slice(span.end);
}

/** Removes a value and parents that become empty. Returns undefined if nothing is left of the file. */
export function removeAt(text: string, path: JsonPath): string | undefined {
  const spans: Span[] = [spanOf(text)];
  for (const key of path) {
    const child = childOf(spans.at(-1) as Span, key);
    if (child === undefined) return text;
    spans.push(child.value);
  }
  for (let depth = path.length - 1; depth >= 0; depth--) {
    const holder = spans[depth] as Span;
    if (holder.children.length > 1) return without(text, holder, path[depth] as string | number);
  }
  return undefined;
}

interface Span {
  readonly start: number;
  readonly end: number;
  /** In the order of the text. */
  readonly children: readonly Child[];
  readonly isObject: boolean;
}

interface Child {
  readonly key: string | number;
  /** Position of its key, or of the value in a list. */
  readonly start: number;
  readonly value: Span;
}

/** Returns the last member with the key, as JSON.parse does for duplicates. */
const childOf = ({ children }: Span, key: string | number): Child | undefined =>
  children.findLast((child) => child.key === key);

/** Returns the positions of all values; requires text that JSON.parse accepts. */
function spanOf(text: string): Span {
  let at = 0;
  const skip = (): void => {
    while (/\s/.test(text[at] ?? "")) at++;
  };
  const skipString = (): string => {
    const start = at++;
    while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    at++;
    return text.slice(start, at);
  };
  const read = (): Span => {
    skip();
    const start = at;
    const opening = text[at];
    if (opening === "{" || opening === "[") return readChildren(start, opening === "{");
    if (opening === '"') skipString();
    else while (/[^\s,\]}]/.test(text[at] ?? " ")) at++;
    return { start, end: at, children: [], isObject: false };
  };
  const readChildren = (start: number, isObject: boolean): Span => {
    const children: Child[] = [];
    at++;
    for (skip(); text[at] !== "}" && text[at] !== "]"; skip()) {
      if (text[at] === ",") {
        at++;
        skip();
      }
      const from = at;
      let key: string | number = children.length;
      if (isObject) {
        key = JSON.parse(skipString()) as string;
        skip();
        at++; // The colon.
      }
      children.push({ key, start: from, value: read() });
    }
    at++;
    return { start, end: at, children, isObject };
  };
  return read();
}

interface Style {
  readonly unit: string;
  readonly eol: string;
}

/** Detects indentation (default: two spaces) and line endings of the file. */
function style(text: string, root: Span): Style {
  const [first] = root.children;
  const unit = first === undefined ? "" : indentAt(text, first.start);
  return { unit: unit === "" ? "  " : unit, eol: text.includes("\r\n") ? "\r\n" : "\n" };
}

/** Returns the leading white space of the line at a position. */
function indentAt(text: string, place: number): string {
  const line = text.lastIndexOf("\n", place - 1) + 1;
  return /^[ \t]*/.exec(text.slice(line, place))?.[0] ?? "";
}

function rendered(value: Json, { unit, eol }: Style, indent: string): string {
  return JSON.stringify(value, null, unit).replaceAll("\n", `${eol}${indent}`);
}

function inserted(
  text: string,
  root: Span,
  holder: Span,
  { key, value }: { readonly key: string | number; readonly value: Json },
): string {
  const like = style(text, root);
  const named = (indent: string): string =>
    `${holder.isObject ? `${JSON.stringify(key)}: ` : ""}${rendered(value, like, indent)}`;
  const last = holder.children.at(-1);
  if (last === undefined) {
    const outer = indentAt(text, holder.start);
    const inner = outer + like.unit;
    const [open, close] = holder.isObject ? ["{", "}"] : ["[", "]"];
    const body = `${open}${like.eol}${inner}${named(inner)}${like.eol}${outer}${close}`;
    return text.slice(0, holder.start) + body + text.slice(holder.end);
  }
  const isOneLine = !text.slice(holder.start, last.start).includes("\n");
  const indent = indentAt(text, last.start);
  const added = isOneLine ? `, ${named(indent)}` : `,${like.eol}${indent}${named(indent)}`;
  return text.slice(0, last.value.end) + added + text.slice(last.value.end);
}

function without(text: string, { children }: Span, key: string | number): string {
  const i = children.findLastIndex((child) => child.key === key);
  const { start, value } = children[i] as Child;
  const before = children[i - 1];
  // Removes the comma before it, or for the first member the one after it.
  if (before !== undefined) return text.slice(0, before.value.end) + text.slice(value.end);
  return text.slice(0, start) + text.slice((children[i + 1] as Child).start);
}

const nested = (path: JsonPath, value: Json): Json =>
  path.reduceRight<Json>(
    (inner, key) => (typeof key === "number" ? [inner] : { [key]: inner }),
    value,
  );
