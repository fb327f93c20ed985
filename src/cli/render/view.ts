/** Prints a view: its budget, the records it contains, and those left out with the reason. */
import { clip } from "../../base/clip.ts";
import { isBatonError } from "../../base/errors.ts";
import type { View } from "../../context/view/view.ts";
import type { Hub } from "../../hub/hub.ts";
import { bad, bold, dim, oneLine, plural, printLine, table } from "../terminal.ts";
import { printBudget } from "./budget-bar.ts";

/** Maximum number of omitted records printed; --json contains all of them. */
const OMITTED_SHOWN = 20;

const OMISSION_REASONS: Readonly<Record<View["omitted"][number]["why"], string>> = {
  budget: "over budget",
  earlier: "earlier handoff",
  limit: "zero weight, or over a limit",
  log: "conversation or settled",
  said: "already included",
};

/** Reads the records of a view. */
type Reader = { readonly memories: Pick<Hub["memories"], "read"> };

/** Prints a view without its text. */
export async function printView(reader: Reader, view: View): Promise<void> {
  printBudget(view);
  if (view.shown.length > 0) {
    printLine(bold("Included"));
    const { shown } = view;
    printRows(
      shown.map(({ section, level, tokens, id }) => [section, level, right(tokens), id]),
      await Promise.all(shown.map(({ id }) => summaryOf(reader, id))),
    );
  }
  await printOmitted(reader, view);
  for (const { id, insteadOf } of view.shown) {
    if (insteadOf !== undefined) printLine(`Superseded: ${insteadOf}; replaced by ${id}`);
  }
  for (const gap of view.gaps) printLine(bad(gapLine(gap)));
  for (const { path, freshness } of view.artifacts) {
    if (freshness === "stale" || freshness === "gone") {
      printLine(bad(`${FRESHNESS_TEXTS[freshness]}: ${oneLine(path)}`));
    }
  }
}

/** State of a file compared to its digest in the handoff. */
const FRESHNESS_TEXTS = { stale: "Changed since the handoff", gone: "File not found" } as const;

/** Formats a missing reference: `Missing: mem_…, no record has this id`. */
export const gapLine = ({ id, reason }: View["gaps"][number]): string =>
  `Missing: ${id}, ${oneLine(reason.replace(/^missing: /, ""))}`;

const right = (tokens: number): string => String(tokens).padStart(5);

/** Maximum characters of a record's summary. */
const MAX_SUMMARY_LENGTH = 72;

/** Prints rows with a summary each, truncated to the width of the terminal. */
function printRows(rows: readonly (readonly string[])[], about: readonly string[]): void {
  const lines = table(rows);
  const width = Math.max(...lines.map((line) => line.length));
  for (const [i, line] of lines.entries()) {
    const words = clip(oneLine(about[i] ?? "", width + 4), MAX_SUMMARY_LENGTH);
    printLine(words === "" ? `  ${line}` : `  ${line.padEnd(width)}  ${dim(words)}`);
  }
}

async function printOmitted(reader: Reader, { omitted }: View): Promise<void> {
  if (omitted.length === 0) {
    printLine(dim("No records were left out."));
    return;
  }
  printLine(bold("Left out"));
  const listed = omitted.slice(0, OMITTED_SHOWN);
  printRows(
    listed.map(({ id, section, tokens, why, shown }) => [
      section,
      shown === undefined ? OMISSION_REASONS[why] : `only ${shown} shown`,
      right(tokens),
      id,
    ]),
    await Promise.all(listed.map(({ id }) => summaryOf(reader, id))),
  );
  printLine(dim("  Read any of them: baton read <id>"));
  const more = omitted.length - listed.length;
  if (more > 0) printLine(dim(`  and ${plural(more, "more record")}: see --json`));
}

/** Returns the beginning of a record, or "(private)" if the reader cannot access it. */
async function summaryOf(reader: Reader, id: string): Promise<string> {
  if (!id.startsWith("mem_")) return "";
  const memory = await reader.memories.read(id).catch((error: unknown) => {
    if (isBatonError(error) && error.code === "unknown_memory") return undefined;
    throw error;
  });
  if (memory === undefined) return "(private)";
  const { type, content, redacted } = memory;
  return `${type}: ${redacted === undefined ? content : "(redacted)"}`;
}
