/**
 * Renders structured data as text for a model: prose and code unchanged, lists of records as a table,
 * everything else as indented `key: value` lines. Nothing is omitted: every key and every value is in the
 * text. `outlineOf` gives only the keys and types with the first words of each value, for when the full text
 * does not fit.
 */
import { clip } from "../base/clip.ts";

/** Returns the complete text of a JSON value. */
export function renderData(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return listText(value);
  if (isRecord(value)) return recordText(value);
  return String(value);
}

type Json = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function recordText(value: Json): string {
  const entries = Object.entries(value);
  if (entries.length === 0) return "(empty)";
  return entries.map(([key, each]) => fieldText(key, each)).join("\n");
}

function fieldText(key: string, value: unknown): string {
  const text = renderData(value);
  const isInline = !isRecord(value) && !text.includes("\n") && !isFilled(value);
  return isInline ? `${key}: ${text}` : `${key}:\n${indented(text)}`;
}

const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

function listText(items: readonly unknown[]): string {
  if (items.length === 0) return "(empty list)";
  const columns = columnsOf(items);
  if (columns !== undefined) return tableText(columns, items as readonly Json[]);
  return items.map((item) => `- ${indented(renderData(item)).trimStart()}`).join("\n");
}

const indented = (text: string): string => text.replace(/^(?=.)/gmu, "  ");

/** A wider table is harder to read than lines. */
const MAX_COLUMNS = 8;
const MAX_CELL_LENGTH = 60;

/**
 * Returns the columns of a list of flat records with the same keys; undefined if a table would be hard to
 * read.
 */
function columnsOf(items: readonly unknown[]): readonly string[] | undefined {
  const [first] = items;
  if (items.length < 2 || !isRecord(first)) return undefined;
  const columns = Object.keys(first);
  if (columns.length < 2 || columns.length > MAX_COLUMNS) return undefined;
  const isRow = (item: unknown): boolean =>
    isRecord(item) &&
    Object.keys(item).length === columns.length &&
    columns.every((column) => Object.hasOwn(item, column) && fitsInCell(item[column]));
  return items.every(isRow) ? columns : undefined;
}

const fitsInCell = (value: unknown): boolean =>
  typeof value === "string"
    ? value.length <= MAX_CELL_LENGTH && !/[\n|]/u.test(value)
    : typeof value !== "object" || value === null;

function tableText(columns: readonly string[], rows: readonly Json[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [
    line(columns),
    line(columns.map(() => "---")),
    ...rows.map((row) => line(columns.map((column) => String(row[column])))),
  ].join("\n");
}

const OUTLINE_LENGTH = 420;
const MAX_KEYS = 12;
const MAX_EXCERPT_LENGTH = 48;

/** Returns the keys of a JSON value with their types and first words, in at most 420 characters. */
export function outlineOf(value: unknown): string {
  const lines = linesOf(value, "", 0);
  const fits = (n: number): boolean => outline(lines, n).length <= OUTLINE_LENGTH;
  let shown = lines.length;
  while (shown > 1 && !fits(shown)) shown--;
  return clip(outline(lines, shown), OUTLINE_LENGTH);
}

function outline(lines: readonly string[], shown: number): string {
  const left = lines.length - shown;
  return [...lines.slice(0, shown), ...(left === 0 ? [] : [`… ${left} more`])].join("\n");
}

function linesOf(value: unknown, key: string, depth: number): string[] {
  const label = key === "" ? "" : `${"  ".repeat(depth - 1)}${key}: `;
  if (typeof value === "string") return [`${label}${textOutline(value)}`];
  if (Array.isArray(value)) return [`${label}${listOutline(value)}`];
  if (!isRecord(value)) return [`${label}${String(value)}`];
  const entries = Object.entries(value);
  if (depth >= 2) return [`${label}keys ${keysOf(entries)}`];
  const head = key === "" ? [] : [label.trimEnd()];
  return [...head, ...entries.flatMap(([name, each]) => linesOf(each, name, depth + 1))];
}

const keysOf = (entries: readonly (readonly [string, unknown])[]): string =>
  entries.length > MAX_KEYS
    ? `${entries
        .slice(0, MAX_KEYS)
        .map(([name]) => name)
        .join(", ")} and ${entries.length - MAX_KEYS} more`
    : entries.map(([name]) => name).join(", ");

function textOutline(text: string): string {
  if (text.length <= MAX_EXCERPT_LENGTH && !text.includes("\n")) return text;
  const [line = ""] = text.trim().split("\n", 1);
  return `text of ${text.length} characters, begins: ${clip(line, MAX_EXCERPT_LENGTH)}`;
}

function listOutline(items: readonly unknown[]): string {
  const [first] = items;
  if (items.length === 0) return "empty list";
  const each = isRecord(first)
    ? `each with ${keysOf(Object.entries(first))}`
    : `first: ${clip(renderData(first).split("\n", 1)[0] ?? "", MAX_EXCERPT_LENGTH)}`;
  return `list of ${items.length}, ${each}`;
}
