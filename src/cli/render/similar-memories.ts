/** Prints existing memories that duplicate or contradict a new one, and the options that resolve this. */
import type { SimilarMemory } from "../../memory/recall/similar-memories.ts";
import { age, bad, bold, dim, oneLine, printLine } from "../terminal.ts";

const RELATION_OPTIONS = {
  "continues-from": ["--continues", "continue from it"],
  supersedes: ["--supersedes", "replace it"],
  corrects: ["--corrects", "correct it"],
} as const;

/** Prints the similar memories. `written`: id of the new memory, if it was stored anyway. */
export function printSimilarMemories(known: readonly SimilarMemory[], written?: string): void {
  for (const { memory, verdict, why } of known) {
    const mark = verdict === "same" ? bold("Already known") : bad("Contradicts");
    const when = age(Date.now() - memory.storedAt);
    printLine(`${mark} ${memory.id}${dim(`  ${memory.agent}, ${when} ago; ${oneLine(why)}`)}`);
    printLine(`  ${oneLine(memory.content, 2)}`);
  }
  const [first] = known;
  if (first === undefined) return;
  printLine(
    written === undefined
      ? "To keep only one of them, run the command again with"
      : `To keep only one of them, run the command again with --supersedes ${written} and`,
  );
  const options = first.offers.map(({ relation }) => RELATION_OPTIONS[relation]);
  const width = Math.max(...options.map(([option]) => option.length)) + first.memory.id.length + 1;
  for (const [option, meaning] of options) {
    printLine(`  ${`${option} ${first.memory.id}`.padEnd(width)}  ${dim(meaning)}`);
  }
}
