/** Prints the result of a quarantine or a lift. */
import type { QuarantineResult } from "../../memory/quarantine/quarantine.ts";
import { bold, dim, plural, printLine } from "../terminal.ts";

/** Prints which memories were changed; `how`: what happened to them. */
export function printQuarantineResult(done: QuarantineResult, how: string): void {
  const { memories, already, hidden, records, deliveries } = done;
  printLine(bold(`${plural(memories.length + hidden, "memory")} ${how}.`));
  for (const id of memories) printLine(`  ${id}`);
  if (hidden > 0) printLine(`  and ${hidden} not visible to you`);
  if (already.length > 0)
    printLine(
      dim(
        `${plural(already.length, "memory")} ${already.length === 1 ? "was" : "were"} already in this state.`,
      ),
    );
  if (deliveries.length > 0) {
    printLine(`${plural(deliveries.length, "open delivery")} notified:`);
    for (const id of deliveries) printLine(`  ${id}`);
  }
  for (const id of records) printLine(dim(`Recorded as ${id}`));
}
