/** A view for people: what it takes of the budget, what is in it, what stays out and why. */
import { clip } from "../clip.ts";
import type { View } from "../context/view.ts";
import { isBatonError } from "../errors.ts";
import type { Hub } from "../hub.ts";
import { sayBudget } from "./budget-bar.ts";
import { bad, bold, dim, oneLine, plural, say, table } from "./terminal.ts";

/** Of what was left out; --json has all of it. */
const OMITTED_SHOWN = 20;

const WHY: Readonly<Record<View["omitted"][number]["why"], string>> = {
  budget: "no room",
  limit: "of no weight for the role",
  log: "a conversation, or settled",
};

/** `reader`: may see the records that the view names. */
export async function sayView(reader: Pick<Hub, "read">, view: View): Promise<void> {
  sayBudget(view);
  if (view.shown.length > 0) {
    say(bold("In it"));
    const rows = await Promise.all(view.shown.map((shown) => rowOf(reader, shown)));
    for (const row of table(rows)) say(`  ${row}`);
  }
  sayOmitted(view);
  for (const { id, reason } of view.gaps) say(bad(`Missing: ${id}, ${oneLine(reason)}`));
  for (const { path, freshness } of view.artifacts) {
    if (freshness === "stale" || freshness === "gone") say(bad(`${freshness}: ${oneLine(path)}`));
  }
}

/** Of what a record says, enough to know it by. */
const ABOUT = 72;

async function rowOf(
  reader: Pick<Hub, "read">,
  { id, section, level, tokens, freshness, insteadOf }: View["shown"][number],
): Promise<string[]> {
  const marks = [
    ...(freshness === undefined || freshness === "fresh" ? [] : [freshness]),
    ...(insteadOf === undefined ? [] : [`instead of ${insteadOf}`]),
  ];
  const text = clip(oneLine(await about(reader, id)), ABOUT);
  const last = marks.length === 0 ? text : `${marks.join(", ")}; ${text}`;
  return [section, level, String(tokens).padStart(5), id, last];
}

function sayOmitted({ omitted }: View): void {
  if (omitted.length === 0) {
    say(dim("Nothing was left out."));
    return;
  }
  say(bold("Left out"));
  const rows = omitted
    .slice(0, OMITTED_SHOWN)
    .map(({ id, section, tokens, why }) => [section, String(tokens).padStart(5), id, WHY[why]]);
  for (const row of table(rows)) say(`  ${row}`);
  const more = omitted.length - rows.length;
  if (more > 0) say(dim(`  and ${plural(more, "more record")}: see --json`));
}

/** The first words of a record, where whoever looks may see it. */
async function about(reader: Pick<Hub, "read">, id: string): Promise<string> {
  if (!id.startsWith("mem_")) return "";
  const memory = await reader.read(id).catch((error: unknown) => {
    if (isBatonError(error) && error.code === "unknown_memory") return undefined;
    throw error;
  });
  if (memory === undefined) return "(private)";
  const { type, content, redacted } = memory;
  return `${type}: ${redacted === undefined ? content : "(redacted)"}`;
}
