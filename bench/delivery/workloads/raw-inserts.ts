/** Plain inserts of 4 KB into SQLite: the upper bound of every rate. */
import { inScratch } from "../../kit.ts";
import { rawInserts } from "../../raw.ts";

export function rawSqliteInserts(rows: number, rowsPerCommit: number): Promise<number> {
  const whole = Math.ceil(rows / rowsPerCommit) * rowsPerCommit;
  return inScratch((folder) => rawInserts(folder, { bytes: 4096, rows: whole, rowsPerCommit }));
}
