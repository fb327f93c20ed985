/** How much of an answer a row is, the same on every engine. */
import type { SqlValue } from "../sql-query.ts";

const SCALAR_BYTES = 8;

export function sizeOf(row: readonly SqlValue[]): number {
  return row.reduce<number>((sum, cell) => {
    if (typeof cell === "string") return sum + Buffer.byteLength(cell);
    return sum + (cell instanceof Uint8Array ? cell.byteLength : SCALAR_BYTES);
  }, 0);
}
