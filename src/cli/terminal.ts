/**
 * Writing for people. Colours only on a terminal (`styleText` knows about that, and about NO_COLOR,
 * FORCE_COLOR and terminals that have none); stored text is shown without control characters, so that nothing an agent once wrote can
 * steer the terminal of whoever reads it.
 */
import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

export function printLine(text = ""): void {
  process.stdout.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  printLine(JSON.stringify(value, null, 2));
}

export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

export const bold = (text: string): string => styled("bold", text);
export const dim = (text: string): string => styled("dim", text);
export const good = (text: string): string => styled("green", text);
export const bad = (text: string): string => styled("red", text);

/** Control and direction-changing characters made visible; line breaks and tabs stay. */
export function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");
}

/** On one line; on a terminal cut to what fits after `used` columns. */
export function oneLine(text: string, used = 0): string {
  const plain = printable(text).replace(/\s+/g, " ").trim();
  const room = Math.max(20, (process.stdout.columns || Number.POSITIVE_INFINITY) - used);
  if (plain.length <= room) return plain;
  const characters = [...plain];
  return characters.length <= room ? plain : `${characters.slice(0, room - 1).join("")}…`;
}

/** Local time to the second, in an order that sorts. */
export function localTime(at: number): string {
  return new Date(at).toLocaleString("sv-SE");
}

/** How long ago, in the largest unit that fits: 3 days. */
export function age(ms: number): string {
  const units: [string, number][] = [
    ["day", 86_400_000],
    ["hour", 3_600_000],
    ["minute", 60_000],
  ];
  const fitting = units.find(([, length]) => ms >= length);
  return fitting === undefined ? "moments" : plural(Math.floor(ms / fitting[1]), fitting[0]);
}

/** As it is written on the command line: 1500ms, 30s, 5m, 2h. */
export function duration(ms: number): string {
  const units: [string, number][] = [
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
  ];
  const whole = units.find(([, length]) => ms > 0 && ms % length === 0);
  return whole === undefined ? `${ms}ms` : `${ms / whole[1]}${whole[0]}`;
}

export function plural(count: number, noun: string): string {
  const many = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${count.toLocaleString("en")} ${count === 1 ? noun : many}`;
}

/** Columns padded to their widest cell; the last one is free. */
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
