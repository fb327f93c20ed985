/** What is known already of something that was or is to be written, and how to leave one record. */
import type { SimilarMemory } from "../../memory/recall/similar-memories.ts";
import { age, bad, bold, dim, oneLine, printLine } from "../terminal.ts";

const RELATION_OPTIONS = {
  "continues-from": ["--continues", "goes on from it"],
  supersedes: ["--supersedes", "takes its place"],
  corrects: ["--corrects", "it was wrong"],
} as const;

/** `written`: what was written all the same. */
export function printSimilarMemories(known: readonly SimilarMemory[], written?: string): void {
  for (const { memory, verdict, why } of known) {
    const mark = verdict === "same" ? bold("Known already") : bad("Speaks against");
    const when = age(Date.now() - memory.storedAt);
    printLine(`${mark} ${memory.id}${dim(`  ${memory.agent}, ${when} ago; ${oneLine(why)}`)}`);
    printLine(`  ${oneLine(memory.content, 2)}`);
  }
  const [first] = known;
  if (first === undefined) return;
  printLine(
    written === undefined
      ? "To leave one of them, say it with"
      : `To leave one of them, say it again with --supersedes ${written} and`,
  );
  const options = first.offers.map(({ relation }) => RELATION_OPTIONS[relation]);
  const width = Math.max(...options.map(([option]) => option.length)) + first.memory.id.length + 1;
  for (const [option, meaning] of options) {
    printLine(`  ${`${option} ${first.memory.id}`.padEnd(width)}  ${dim(meaning)}`);
  }
}
