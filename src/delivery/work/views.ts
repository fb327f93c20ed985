/**
 * Views as they were shown: composed when a receiver first asks, written down under its lease before it
 * sees anything, and kept as a recipe: which records, how much of each, and the digest of the text. So it
 * is known afterwards what each holder saw, also of a record that turns out to be wrong. Nothing of what
 * was shown is copied: records never change, so the text is made again from them, and held against the
 * digest.
 */
import * as z from "zod";
import { canonicalJson, sha256 } from "../../base/canonical.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { composeView, type ViewOptions, ViewOptionsSchema } from "../../context/view/compose.ts";
import { viewReceiverOf } from "../../context/view/receiver.ts";
import { type Recipe, recipeOf, rerender } from "../../context/view/recipe.ts";
import type { View } from "../../context/view/view.ts";
import { parseOr } from "../../envelope/violations.ts";
import { acceptancesOf, pointingAt } from "../../history/delivery-records.ts";
import { leaseLost } from "../../history/lease-lost.ts";
import { unknownDelivery } from "../../history/unknown-delivery.ts";
import { agentInfo, requireAgent } from "../../memory/agents.ts";
import { forWork } from "../../memory/branches/work-branch.ts";
import type { Author, Memory, MemoryInput } from "../../memory/record.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { DeliveryRow } from "../../store/rows.ts";
import { VIEW } from "../../store/search.ts";
import { isOpenTo } from "../../store/sight.ts";
import type { Claimed, Lease } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { appendNote } from "./note.ts";
import { KeptViewSchema, packed, unpacked } from "./stored-view.ts";

/** A view that was shown. */
export interface ShownView extends View {
  /** The record it is kept in. */
  readonly memory: string;
  /** When it was composed. */
  readonly at: number;
  /** False: something it showed was taken away since, so the text is not what was seen. */
  readonly matches: boolean;
}

export const WorkViewSchema = ViewOptionsSchema.extend({
  /** Composed from what there is now, whatever was shown before. */
  anew: z.literal(true).optional(),
});

/** How a view is asked for: within which budget, for which role, by which strategy. */
export type WorkViewOptions = ViewOptions & { readonly anew?: true | undefined };

/** How a view was asked for. */
export interface Asked {
  readonly options: ViewOptions;
  readonly anew: boolean;
  /** The same for the same question. */
  readonly key: string;
}

export function askedFor(given: WorkViewOptions): Asked {
  const { anew = false, ...options } = parseOr(WorkViewSchema, given, {
    code: "invalid_input",
    what: "The options",
  });
  return { options, anew, key: canonicalJson(options, "invalid_input") };
}

/** A view, and the envelope that counts now: another than the holder's when the sender added to it. */
export interface Composed {
  readonly view: ShownView;
  readonly envelope: string;
}

/** What this holder was shown when it asked the same before; else a new view, kept before it is shown. */
export async function viewFor(
  workspace: Workspace,
  holder: Author,
  hold: Claimed,
  { options, anew, key }: Asked,
): Promise<Composed> {
  const { delivery, envelope } = hold;
  const here = forWork(workspace, envelope);
  if (!anew) {
    const kept = await keptViews(here, [{ id: delivery.acceptedBy, agent: holder.agent }]);
    const same = kept.findLast(
      ({ asked, recipe }) => asked === key && recipe.envelope === envelope.id,
    );
    if (same !== undefined) return { view: await again(here, same), envelope: envelope.id };
  }
  const receiver = viewReceiverOf(agentInfo(await requireAgent(here, holder.agent)));
  const view = await composeView(
    here,
    receiver,
    { envelope: parseEnvelope(here, envelope), claimed: hold },
    options,
  );
  // Beside the acceptance: it tells of the delivery, and says nothing of what the work is about.
  const appended = await appendNote(workspace, holder, {
    input: recordOf(hold, view, key),
    lease: leaseOf(workspace, hold),
    vouched: true,
  });
  if (appended.kind === "lease_lost") throw leaseLost(delivery.id, appended.delivery);
  const { id: memory, storedAt: at } = appended.memory;
  return { view: { ...view, memory, at, matches: true }, envelope: appended.envelope };
}

const leaseOf = ({ limits }: Workspace, { delivery, envelope }: Claimed): Lease => ({
  delivery: delivery.id,
  fence: delivery.fence,
  envelope: envelope.id,
  leaseMs: limits.leaseMs,
});

/** Refers to the acceptance first, then to what is shown: so what came of a record is found from there. */
function recordOf({ delivery, envelope }: Claimed, view: View, asked: string): MemoryInput {
  const shown = [...new Set(view.shown.map(({ id }) => id))];
  const refs = [delivery.acceptedBy, ...shown].slice(0, FORMAT_LIMITS.references);
  return {
    type: VIEW,
    task: envelope.task,
    content: `${view.receiver} was shown ${shown.length} memories for "${envelope.task}", in ${view.tokens} tokens.`,
    data: { asked, delivery: delivery.id, recipe: packed(recipeOf(view), refs) },
    refs,
  };
}

/** A view as it is kept. */
interface KeptView {
  readonly memory: Memory;
  readonly asked: string;
  readonly recipe: Recipe;
}

/** An acceptance, and whose it is. */
type Acceptance = Pick<Memory, "id" | "agent">;

/** The views that were composed under these acceptances, each by whoever accepted, oldest first. */
async function keptViews(
  workspace: Workspace,
  acceptances: readonly Acceptance[],
): Promise<KeptView[]> {
  const agents = new Map(acceptances.map(({ id, agent }) => [id, agent]));
  const records = await pointingAt(workspace, [...agents.keys()], "references");
  return records
    .filter(({ agent, refs = [] }) => refs.some((id) => agents.get(id) === agent))
    .flatMap((memory) => keptIn(memory) ?? []);
}

function keptIn(memory: Memory): KeptView | undefined {
  if (memory.type !== VIEW) return undefined;
  const { data } = KeptViewSchema.safeParse(memory.data);
  if (data === undefined || data.recipe.receiver !== memory.agent) return undefined;
  return { memory, asked: data.asked, recipe: unpacked(data.recipe, memory.refs ?? []) };
}

async function again(workspace: Workspace, { memory, recipe }: KeptView): Promise<ShownView> {
  const { artifacts, text } = await rerender(workspace, recipe);
  const matches = sha256(text) === recipe.digest;
  return { ...recipe, artifacts, text, memory: memory.id, at: memory.storedAt, matches };
}

/** What every holder of a delivery saw, rendered again, oldest first. */
export async function viewsOf(workspace: Workspace, id: string): Promise<ShownView[]> {
  const found = await workspace.store.findDelivery(workspace.name, id);
  if (found === undefined) throw unknownDelivery(id);
  const kept = await keptViews(workspace, await acceptancesOf(workspace, found));
  const views: ShownView[] = [];
  for (const each of kept) {
    if (isOpenTo(each.memory, workspace.reader)) views.push(await again(workspace, each));
  }
  return views;
}

/** The records that the envelope of a delivery and the views of its holders name. */
export async function consideredIn(workspace: Workspace, id: string): Promise<string[]> {
  const found = await workspace.store.findDelivery(workspace.name, id);
  if (found === undefined) throw unknownDelivery(id);
  const kept = await keptViews(workspace, await acceptancesOf(workspace, found));
  const inViews = kept.flatMap(({ recipe }) => [
    ...recipe.shown,
    ...recipe.earlier,
    ...recipe.omitted,
    ...recipe.gaps,
  ]);
  return [...parseEnvelope(workspace, found.envelope).refs, ...inViews].map((each) => each.id);
}

/** What the holder of a delivery was shown so far: the records, and what was missing. */
export async function shownTo(
  workspace: Workspace,
  { acceptedBy: id, holder: agent }: DeliveryRow,
): Promise<Pick<View, "gaps"> & { readonly ids: readonly string[] }> {
  const kept = id === "" ? [] : await keptViews(workspace, [{ id, agent }]);
  return {
    ids: kept.flatMap(({ recipe }) => recipe.shown.map(({ id }) => id)),
    gaps: kept.at(-1)?.recipe.gaps ?? [],
  };
}
