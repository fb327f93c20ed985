/**
 * A view as it is kept: which records, how much of each, and the digest of the text they made. Records
 * and envelopes never change, so the same text can be made again, and no content is stored twice; what
 * was redacted since is missing from it, and the text says so.
 */
import { sha256 } from "../canonical.ts";
import { BatonError } from "../errors.ts";
import { readOpen } from "../memory/read.ts";
import { type Memory, memoryOf } from "../memory/record.ts";
import { parseEnvelope } from "../store/parse-envelope.ts";
import type { Workspace } from "../store/workspace.ts";
import { headOf, partsOf } from "./parts.ts";
import { expanded } from "./ranges.ts";
import { blockOf, render } from "./render.ts";
import type { ShownMemory, View } from "./view.ts";

export type Recipe = Omit<View, "text">;

export function recipeOf({ text: _text, ...recipe }: View): Recipe {
  return recipe;
}

/** The text again, from the records; where something was taken away since, it begins by saying so. */
export async function rerender(workspace: Workspace, recipe: Recipe): Promise<string> {
  const { store, name } = workspace;
  const found = await store.findEnvelope(name, recipe.envelope);
  if (found === undefined) throw unknownEnvelope(recipe.envelope);
  const envelope = parseEnvelope(workspace, found.envelope);
  const ids = recipe.shown.map(({ id }) => id);
  const records = new Map(
    (await readOpen(workspace, ids)).map((row) => [row.id, memoryOf(row)] as const),
  );
  const omitted = new Set(recipe.omitted.flatMap(({ id }) => expanded(id)));
  const summaries = new Map(envelope.refs.map(({ id, summary }) => [id, summary]));
  const blocks = [
    ...partsOf(envelope, recipe).filter(({ id }) => !omitted.has(id)),
    ...recipe.shown.map((shown) => ({
      section: shown.section,
      text: shownBlock(shown, records.get(shown.id), {
        summary: isNamed(shown) ? summaries.get(shown.id) : undefined,
        task: envelope.task,
      }),
    })),
  ];
  const head = headOf(envelope, recipe.receiver);
  const text = render({ head, blocks, omitted: omitted.size });
  return sha256(text) === recipe.digest ? text : `${differs(recipe, records)}${text}`;
}

/** The sender's summary is of what it named, not of what holds in its place. */
const isNamed = ({ section, insteadOf }: ShownMemory): boolean =>
  insteadOf === undefined && (section === "references" || section === "task");

function shownBlock(
  { id, level, freshness, insteadOf }: ShownMemory,
  memory: Memory | undefined,
  { summary, task }: { readonly summary: string | undefined; readonly task: string },
): string {
  if (memory === undefined || memory.redacted !== undefined) return `- ${id}: taken away since\n`;
  return blockOf({ memory, freshness, insteadOf, summary }, level, { task });
}

function differs({ shown }: Recipe, records: ReadonlyMap<string, Memory>): string {
  const gone = shown
    .filter(({ id }) => records.get(id) === undefined || records.get(id)?.redacted !== undefined)
    .map(({ id }) => id);
  const what = gone.length === 0 ? "the envelope" : gone.join(", ");
  return `(Not as it was shown: ${what} was taken away in part or whole since.)\n`;
}

function unknownEnvelope(id: string): BatonError {
  return new BatonError("unknown_envelope", {
    message: `No envelope has the id ${id}.`,
    path: "envelope",
    hint: "A preview is of an envelope that was never sent; compose it anew.",
  });
}
