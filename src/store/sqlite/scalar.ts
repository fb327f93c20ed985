/** Reads the result of statements that return a single value. */
import type { SQLOutputValue } from "node:sqlite";
import type { Row } from "../codecs.ts";

/** Returns the first column of a row; undefined if there is no row. */
export function scalarOf<T extends SQLOutputValue>(row: unknown): T | undefined {
  return (row as Row | undefined)?.[0] as T | undefined;
}

/** Returns the first column of a row as a number; 0 if there is no row. */
export function numberOf(row: unknown): number {
  return scalarOf<number>(row) ?? 0;
}
