/** Computes the size of a result row for the limit on result bytes, the same way on every engine. */
import type { SqlValue } from "../sql-query.ts";

const SCALAR_BYTES = 8;

/** Returns the size of a row in bytes: texts in UTF-8, binary values as they are, everything else 8 bytes. */
export function sizeOf(row: readonly SqlValue[]): number {
  return row.reduce<number>((sum, cell) => {
    if (typeof cell === "string") return sum + Buffer.byteLength(cell);
    return sum + (cell instanceof Uint8Array ? cell.byteLength : SCALAR_BYTES);
  }, 0);
}
