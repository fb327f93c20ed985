/**
 * Changing one place of a JSON file and no other: what its owner wrote keeps its order, its indents and
 * its line ends, byte for byte. Works on the text; the text is parsed first, so that a broken file is
 * refused before anything is changed.
 */
import { isDeepStrictEqual } from "node:util";
import { unusableFile } from "./file-changes.ts";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}
/** Keys of objects and indexes of lists, from the root. */
export type JsonPath = readonly (string | number)[];

/** Some editors begin a file with it; it stays where it is. */
const BYTE_ORDER_MARK = /^\ufeff/;

/** Undefined for a file that is not there, or is empty. */
export function parseJson(text: string | undefined, file: string): JsonObject {
  if (text === undefined || text.trim() === "") return {};
  let parsed: Json;
  try {
    parsed = JSON.parse(text.replace(BYTE_ORDER_MARK, "")) as Json;
  } catch (error) {
    throw unusableFile(file, (error as Error).message, error);
  }
  if (isObject(parsed)) return parsed;
  throw unusableFile(file, "it is no JSON object");
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function valueAt(root: Json, path: JsonPath): Json | undefined {
  return path.reduce<Json | undefined>((value, key) => {
    if (Array.isArray(value) && typeof key === "number") return value[key];
    return isObject(value) && Object.hasOwn(value, key) ? value[String(key)] : undefined;
  }, root);
}

/** Sets a value; what is missing on the way to it is made. An index one past the end adds an item. */
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

/** Takes a value out, and whatever is empty without it. Undefined: nothing is left of the file. */
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
  /** In the order of the text; of an object with their keys. */
  readonly children: readonly Child[];
  readonly isObject: boolean;
}

interface Child {
  readonly key: string | number;
  /** Where its key begins, or itself. */
  readonly start: number;
  readonly value: Span;
}

/** Of two members with one key JSON takes the last. */
const childOf = ({ children }: Span, key: string | number): Child | undefined =>
  children.findLast((child) => child.key === key);

/** Only of text that JSON.parse has accepted. */
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

/** As the file is written: its first indent, or two spaces. */
function style(text: string, root: Span): Style {
  const [first] = root.children;
  const unit = first === undefined ? "" : indentAt(text, first.start);
  return { unit: unit === "" ? "  " : unit, eol: text.includes("\r\n") ? "\r\n" : "\n" };
}

/** What stands before a place on its line, as far as it is white. */
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
  // With the comma before it; of the first, with the one behind it.
  if (before !== undefined) return text.slice(0, before.value.end) + text.slice(value.end);
  return text.slice(0, start) + text.slice((children[i + 1] as Child).start);
}

const nested = (path: JsonPath, value: Json): Json =>
  path.reduceRight<Json>(
    (inner, key) => (typeof key === "number" ? [inner] : { [key]: inner }),
    value,
  );
