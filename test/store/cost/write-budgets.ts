/** Writes the table of budgets as it was measured. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Budgets } from "./budgets.ts";

const FILE = join(import.meta.dirname, "budgets.ts");
/** The table follows this line. */
const BEGIN = "export const BUDGETS: Budgets = ";

export function writeBudgets(budgets: Budgets): void {
  const [head] = readFileSync(FILE, "utf8").split(BEGIN);
  writeFileSync(FILE, `${head}${BEGIN}${JSON.stringify(budgets, undefined, 2)};\n`);
}
