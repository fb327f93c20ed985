/** What a piece of work carries that is quarantined, for whoever has it or is about to. */
import type { Warning } from "../../delivery/work/warnings.ts";
import { bad, oneLine, printLine } from "../terminal.ts";

export function printWarnings(warnings: readonly Warning[]): void {
  for (const { memory, by, reason } of warnings) {
    printLine(bad(oneLine(`  Do not build on ${memory}: quarantined by ${by}: ${reason}`)));
  }
}
