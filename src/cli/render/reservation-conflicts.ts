/** Who else works on what somebody works on, for whoever is about to go on. */
import type { ReservationConflict } from "../../coordination/reservations/conflicts.ts";
import { bad, localTime, oneLine, printLine } from "../terminal.ts";

export function printReservationConflicts(conflicts: readonly ReservationConflict[]): void {
  for (const { agent, globs, with: mine, task, note, until } of conflicts) {
    const theirs = `${agent} works on ${globs.join(", ")} for "${task}"`;
    const why = note === undefined ? "" : `: ${note}`;
    printLine(bad(`  ${oneLine(`Take care with ${mine.join(", ")}: ${theirs}${why}`, 2)}`));
    printLine(bad(`    theirs until ${localTime(until)}, and longer with every call`));
  }
}
