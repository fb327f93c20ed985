/** Prints warnings about quarantined memories that a handoff references. */
import type { Warning } from "../../delivery/work/warnings.ts";
import { bad, oneLine, printLine } from "../terminal.ts";

/** Prints one line per quarantined memory. */
export function printWarnings(warnings: readonly Warning[]): void {
  for (const { memory, by, reason } of warnings) {
    printLine(bad(oneLine(`  Do not build on ${memory}: quarantined by ${by}: ${reason}`)));
  }
}
