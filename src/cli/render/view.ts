/** A view for people: what it takes of the budget, what is in it, what stays out and why. */
import { clip } from "../../base/clip.ts";
import { isBatonError } from "../../base/errors.ts";
import type { View } from "../../context/view/view.ts";
import type { Hub } from "../../hub/hub.ts";
import { bad, bold, dim, oneLine, plural, printLine, table } from "../terminal.ts";
import { printBudget } from "./budget-bar.ts";

/** Of what was left out; --json has all of it. */
const OMITTED_SHOWN = 20;

const OMISSION_REASONS: Readonly<Record<View["omitted"][number]["why"], string>> = {
  budget: "no room",
  earlier: "an earlier handoff",
  limit: "of no weight for the role",
  log: "a conversation, or settled",
  said: "said already",
};

/** Reads the records that a view names. */
type Reader = { readonly memories: Pick<Hub["memories"], "read"> };

/** Prints a view. */
export async function printView(reader: Reader, view: View): Promise<void> {
  printBudget(view);
  if (view.shown.length > 0) {
    printLine(bold("In it"));
    const { shown } = view;
    printRows(
      shown.map(({ section, level, tokens, id }) => [section, level, right(tokens), id]),
      await Promise.all(shown.map(({ id }) => summaryOf(reader, id))),
    );
  }
  await printOmitted(reader, view);
  for (const { id, insteadOf } of view.shown) {
    if (insteadOf !== undefined)
      printLine(`Superseded: ${insteadOf}; shown is what holds instead, ${id}`);
  }
  for (const gap of view.gaps) printLine(bad(gapLine(gap)));
  for (const { path, freshness } of view.artifacts) {
    if (freshness === "stale" || freshness === "gone") {
      printLine(bad(`${FRESHNESS_TEXTS[freshness]}: ${oneLine(path)}`));
    }
  }
}

/** What has become of a file since it was handed over. */
const FRESHNESS_TEXTS = { stale: "Changed since", gone: "No such file" } as const;

/** `Missing: mem_…, no record has this id` */
export const gapLine = ({ id, reason }: View["gaps"][number]): string =>
  `Missing: ${id}, ${oneLine(reason.replace(/^missing: /, ""))}`;

const right = (tokens: number): string => String(tokens).padStart(5);

/** Of what a record says, enough to know it by. */
const MAX_SUMMARY_LENGTH = 72;

/** Rows, each with what it is about: as much of that as fits beside it. */
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
    printLine(dim("Nothing was left out."));
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

/** The first words of a record, where whoever looks may see it. */
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
