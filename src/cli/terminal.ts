/**
 * Formats and prints text for a terminal. Colours are used only on a terminal that supports them;
 * NO_COLOR and FORCE_COLOR apply (`styleText` checks all of this). Stored text is printed without control characters,
 * so that text written by an agent cannot control the terminal of its reader.
 */
import { styleText } from "node:util";
import { showHidden } from "../text/visible.ts";

type Style = Parameters<typeof styleText>[0];

/** Prints a line to stdout. */
export function printLine(text = ""): void {
  process.stdout.write(`${text}\n`);
}

/** Prints a value as indented JSON to stdout. */
export function printJson(value: unknown): void {
  printLine(JSON.stringify(value, null, 2));
}

/** Returns the text with a style, if stdout supports it. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

export const bold = (text: string): string => styled("bold", text);
export const dim = (text: string): string => styled("dim", text);
export const good = (text: string): string => styled("green", text);
export const bad = (text: string): string => styled("red", text);

/** Escapes control characters and other invisible ones (`\u{1b}`); keeps line breaks and tabs. */
export const printable = showHidden;

/** Returns the text on one line; on a terminal, truncated to the columns left after `used`. */
export function oneLine(text: string, used = 0): string {
  const plain = printable(text).replace(/\s+/g, " ").trim();
  const width = Math.max(20, (process.stdout.columns || Number.POSITIVE_INFINITY) - used);
  if (plain.length <= width) return plain;
  const characters = [...plain];
  return characters.length <= width ? plain : `${characters.slice(0, width - 1).join("")}…`;
}

/** Formats a timestamp as sortable local time: 2026-01-31 12:00:00. */
export function localTime(at: number): string {
  return new Date(at).toLocaleString("sv-SE");
}

/** Formats a duration in its largest whole unit: "3 days"; below a minute "moments". */
export function age(ms: number): string {
  const units: [string, number][] = [
    ["day", 86_400_000],
    ["hour", 3_600_000],
    ["minute", 60_000],
  ];
  const fitting = units.find(([, length]) => ms >= length);
  return fitting === undefined ? "moments" : plural(Math.floor(ms / fitting[1]), fitting[0]);
}

/** Formats a duration as options write it: 1500ms, 30s, 5m, 2h. */
export function duration(ms: number): string {
  const units: [string, number][] = [
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
  ];
  const whole = units.find(([, length]) => ms > 0 && ms % length === 0);
  return whole === undefined ? `${ms}ms` : `${ms / whole[1]}${whole[0]}`;
}

/** Returns a count with its noun: "1 delivery", "2 deliveries". */
export function plural(count: number, noun: string): string {
  const many = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${count.toLocaleString("en")} ${count === 1 ? noun : many}`;
}

/** Returns one line per row, with every column but the last padded to its widest cell. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>(
    (known, row) => row.map((cell, i) => Math.max(known[i] ?? 0, cell.length)),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}
