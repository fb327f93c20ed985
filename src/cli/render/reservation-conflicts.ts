/** Prints reservations of other agents that overlap with the current work. */
import type { ReservationConflict } from "../../coordination/reservations/conflicts.ts";
import { bad, localTime, oneLine, printLine } from "../terminal.ts";

/** Prints two lines per conflict. */
export function printReservationConflicts(conflicts: readonly ReservationConflict[]): void {
  for (const { agent, globs, with: mine, task, note, until } of conflicts) {
    const theirs = `${agent} works on ${globs.join(", ")} for "${task}"`;
    const why = note === undefined ? "" : `: ${note}`;
    printLine(bad(`  ${oneLine(`Conflict on ${mine.join(", ")}: ${theirs}${why}`, 2)}`));
    printLine(bad(`    reserved until ${localTime(until)}, renewed by every call`));
  }
}
