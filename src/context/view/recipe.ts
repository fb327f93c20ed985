/**
 * The recipe of a view: which records, how much of each, and the digest of the text they made. Records and
 * envelopes never change, so the same text can be rendered again and no content is stored twice. What was
 * redacted since is missing from the text, which then begins with a notice.
 */
import { sha256 } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { type EarlierAttempt, earlierAttempts } from "../../history/earlier-attempts.ts";
import { resolveLedger } from "../../ledger/ledger.ts";
import { readVisible } from "../../memory/read.ts";
import { type Memory, memoryOf } from "../../memory/record.ts";
import type { Section } from "../../profiles/view-parts.ts";
import { parseEnvelope, tryParseEnvelope } from "../../store/parse-envelope.ts";
import { withBoundary } from "../../text/fence.ts";
import { shortIdFormatter } from "../../text/short-ids.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { attemptBlock } from "./attempt-text.ts";
import { summariesIn } from "./candidates.ts";
import { EMPTY_EARLIER_LINE } from "./earlier-line.ts";
import { earlierBlock } from "./earlier-parts.ts";
import { headOf, partsOf } from "./envelope-parts.ts";
import { expandRange } from "./part-ranges.ts";
import { textOfPart } from "./pieces.ts";
import { type Block, blockOf, dayOf, groupOf, type RenderContext, render } from "./render.ts";
import {
  type CheckedArtifact,
  type ShownMemory,
  UNCHECKED_REASONS,
  type UncheckedReason,
  type View,
} from "./view.ts";

/** A view without its text. Of files only the result is kept: their paths are in the envelope. */
export type Recipe = Omit<View, "artifacts" | "text"> & {
  readonly artifacts: readonly ArtifactResult[];
};

/** The freshness of a file, or why it was not checked. */
export type ArtifactResult = CheckedArtifact["freshness"] | UncheckedReason;

const isReason = (result: ArtifactResult): result is UncheckedReason =>
  (UNCHECKED_REASONS as readonly string[]).includes(result);

const checkOf = (result: ArtifactResult): Omit<CheckedArtifact, "path"> =>
  isReason(result) ? { freshness: "unchecked", reason: result } : { freshness: result };

/** Returns the recipe of a view. */
export function recipeOf({ text: _text, artifacts, ...recipe }: View): Recipe {
  return { ...recipe, artifacts: artifacts.map(({ freshness, reason }) => reason ?? freshness) };
}

/** Renders the text again from the records. If it differs from what was shown, it begins with a notice. */
export async function rerender(
  workspace: Workspace,
  recipe: Recipe,
): Promise<Pick<View, "artifacts" | "text">> {
  const { store, name } = workspace;
  const found = await store.findEnvelope(name, recipe.envelope);
  if (found === undefined) throw unknownEnvelope(recipe.envelope);
  const envelope = parseEnvelope(workspace, found.envelope);
  const ids = recipe.shown.map(({ id }) => id);
  const records = new Map(
    (await readVisible(workspace, ids)).map((row) => [row.id, memoryOf(row)] as const),
  );
  const omitted = new Set(
    recipe.omitted.flatMap(({ id, shown }) => (shown === undefined ? expandRange(id) : [])),
  );
  const levels = new Map(recipe.omitted.map(({ id, shown }) => [id, shown]));
  // Short ids depend on everything that was considered, shown or not.
  const considered = [...ids, ...omitted, ...recipe.gaps.map(({ id }) => id)].filter((id) =>
    id.startsWith("mem_"),
  );
  const page: RenderContext = {
    task: envelope.task,
    day: dayOf(envelope.metadata.createdAt),
    nameOf: shortIdFormatter(considered),
  };
  const summaries = summariesIn(envelope);
  const artifacts = envelope.artifacts.map(({ path }, i) => ({
    path,
    ...checkOf(recipe.artifacts[i] ?? "unchecked"),
  }));
  const blocks = [
    ...partsOf(envelope, { artifacts, gaps: recipe.gaps })
      .filter(({ id }) => !omitted.has(id))
      .map((part) => ({
        section: part.section,
        text: textOfPart(part, levels.get(part.id) ?? "full"),
      })),
    ...(await earlierBlocks(workspace, recipe, envelope)),
    ...recipe.shown.map((shown) =>
      shownBlock(shown, records.get(shown.id), {
        summary: isNamed(shown) ? summaries.get(shown.id) : undefined,
        page,
      }),
    ),
  ];
  const head = headOf(envelope, recipe.receiver);
  const text = withBoundary(render({ head, blocks, omitted: omitted.size }), recipe.boundary);
  if (sha256(text) === recipe.digest) return { artifacts, text };
  return { artifacts, text: `${mismatchNotice(recipe, records)}${text}` };
}

/** Returns what earlier attempts and handoffs reported, as it was shown. */
async function earlierBlocks(
  workspace: Workspace,
  { earlier, task }: Recipe,
  envelope: Envelope,
): Promise<readonly { readonly section: Section; readonly text: string }[]> {
  if (earlier.length === 0) return [];
  const { released } = await resolveLedger(workspace, task);
  const line = { ...EMPTY_EARLIER_LINE, released };
  const sources = new Map<string, Promise<Source | undefined>>();
  const sourceOf = (id: string): Promise<Source | undefined> => {
    const name = id.slice(0, id.indexOf("#"));
    const found = sources.get(name) ?? readSource(workspace, name);
    sources.set(name, found);
    return found;
  };
  return Promise.all(
    earlier.map(async ({ id, label }) => {
      const source = await sourceOf(id);
      const text =
        source?.kind === "attempts"
          ? attemptAt(source.attempts, id)
          : source && earlierBlock(source.envelope, { id, label }, { envelope, line });
      const section = id.startsWith("dlv_") ? ("task" as const) : ("earlier" as const);
      return { section, text: text ?? `- ${label}: no longer available\n` };
    }),
  );
}

type Source =
  | { readonly kind: "attempts"; readonly attempts: readonly EarlierAttempt[] }
  | { readonly kind: "envelope"; readonly envelope: Envelope };

async function readSource(workspace: Workspace, id: string): Promise<Source | undefined> {
  const { store, name } = workspace;
  if (id.startsWith("dlv_")) {
    const claimed = await store.findDelivery(name, id);
    return claimed && { kind: "attempts", attempts: await earlierAttempts(workspace, claimed) };
  }
  const row = (await store.findEnvelope(name, id))?.envelope;
  const envelope = row && tryParseEnvelope(workspace, row);
  return envelope && envelope.redacted === undefined ? { kind: "envelope", envelope } : undefined;
}

function attemptAt(attempts: readonly EarlierAttempt[], id: string): string | undefined {
  const [, at = ""] = /\[(\d+)\]$/.exec(id) ?? [];
  const attempt = attempts[Number(at)];
  return attempt && attemptBlock(attempt);
}

const isNamed = ({ section }: ShownMemory): boolean =>
  section === "references" || section === "task";

function shownBlock(
  { id, section, level, freshness, insteadOf }: ShownMemory,
  memory: Memory | undefined,
  { summary, page }: { readonly summary: string | undefined; readonly page: RenderContext },
): Block {
  if (memory === undefined || memory.redacted !== undefined)
    return { section, text: `- ${id}: no longer available\n` };
  const text = blockOf({ memory, freshness, insteadOf, summary }, level, page);
  return { section, group: groupOf(memory, page), text };
}

function mismatchNotice({ shown }: Recipe, records: ReadonlyMap<string, Memory>): string {
  const gone = shown
    .filter(({ id }) => records.get(id) === undefined || records.get(id)?.redacted !== undefined)
    .map(({ id }) => id);
  const what = gone.length === 0 ? "the envelope" : gone.join(", ");
  return `(Not as it was shown: part or all of ${what} was redacted or deleted since.)\n`;
}

function unknownEnvelope(id: string): BatonError {
  return new BatonError("unknown_envelope", {
    message: `Envelope ${id} does not exist.`,
    path: "envelope",
    hint: "A preview uses an envelope that was never sent; compose the preview again.",
  });
}
