/** Statements that answer with a single value. */
import type { SQLOutputValue } from "node:sqlite";
import type { Row } from "../codecs.ts";

/** The one column of a row, or undefined without a row. */
export function scalarOf<T extends SQLOutputValue>(row: unknown): T | undefined {
  return (row as Row | undefined)?.[0] as T | undefined;
}

export function numberOf(row: unknown): number {
  return scalarOf<number>(row) ?? 0;
}
