/**
 * Views as they were shown: composed when a receiver first asks, written down under its lease before it
 * sees anything, and kept as a recipe: which records, how much of each, and the digest of the text. So it
 * is known afterwards what each holder saw, also of a record that turns out to be wrong. Nothing of what
 * was shown is copied: records never change, so the text is made again from them, and held against the
 * digest.
 */
import * as z from "zod";
import { canonicalJson, sha256 } from "../../base/digest.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { composeView, type ViewOptions, ViewOptionsSchema } from "../../context/view/compose.ts";
import { viewReceiverOf } from "../../context/view/receiver.ts";
import { type Recipe, recipeOf, rerender } from "../../context/view/recipe.ts";
import type { View } from "../../context/view/view.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { acceptancesOf, findReferringMemories } from "../../history/delivery-records.ts";
import { leaseLost } from "../../history/lease-lost.ts";
import { unknownDelivery } from "../../history/unknown-delivery.ts";
import { agentInfo, requireAgent } from "../../memory/agents.ts";
import { workspaceForWork } from "../../memory/branches/work-branch.ts";
import type { Author, Memory, MemoryInput } from "../../memory/record.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { DeliveryRow } from "../../store/rows.ts";
import { VIEW_TYPE } from "../../store/search.ts";
import type { DeliveryWithEnvelopeRow, Lease } from "../../store/store.ts";
import { isInScope } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { appendNote } from "./note.ts";
import { packRecipe, StoredViewSchema, unpackRecipe } from "./stored-view.ts";

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
export interface ViewRequest {
  readonly options: ViewOptions;
  readonly anew: boolean;
  /** The same for the same question. */
  readonly key: string;
}

export function parseViewRequest(given: WorkViewOptions): ViewRequest {
  const { anew = false, ...options } = parseOrThrow(WorkViewSchema, given, {
    code: "invalid_input",
    what: "The options",
  });
  return { options, anew, key: canonicalJson(options, "invalid_input") };
}

/** A view, and the envelope that counts now: another than the holder's when the sender added to it. */
export interface ViewResult {
  readonly view: ShownView;
  readonly envelope: string;
}

/** What this holder was shown when it asked the same before; else a new view, kept before it is shown. */
export async function viewFor(
  workspace: Workspace,
  holder: Author,
  hold: DeliveryWithEnvelopeRow,
  { options, anew, key }: ViewRequest,
): Promise<ViewResult> {
  const { delivery, envelope } = hold;
  const here = workspaceForWork(workspace, envelope);
  if (!anew) {
    const kept = await readStoredViews(here, [{ id: delivery.acceptedBy, agent: holder.agent }]);
    const same = kept.findLast(
      ({ asked, recipe }) => asked === key && recipe.envelope === envelope.id,
    );
    if (same !== undefined) return { view: await rerenderView(here, same), envelope: envelope.id };
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

const leaseOf = (
  { limits }: Workspace,
  { delivery, envelope }: DeliveryWithEnvelopeRow,
): Lease => ({
  delivery: delivery.id,
  fence: delivery.fence,
  envelope: envelope.id,
  leaseMs: limits.leaseMs,
});

/** Refers to the acceptance first, then to what is shown: so what came of a record is found from there. */
function recordOf(
  { delivery, envelope }: DeliveryWithEnvelopeRow,
  view: View,
  asked: string,
): MemoryInput {
  const shown = [...new Set(view.shown.map(({ id }) => id))];
  const refs = [delivery.acceptedBy, ...shown].slice(0, FORMAT_LIMITS.references);
  return {
    type: VIEW_TYPE,
    task: envelope.task,
    content: `${view.receiver} was shown ${shown.length} memories for "${envelope.task}", in ${view.tokens} tokens.`,
    data: { asked, delivery: delivery.id, recipe: packRecipe(recipeOf(view), refs) },
    refs,
  };
}

/** A view as it is kept. */
interface StoredView {
  readonly memory: Memory;
  readonly asked: string;
  readonly recipe: Recipe;
}

/** An acceptance, and whose it is. */
type Acceptance = Pick<Memory, "id" | "agent">;

/** The views that were composed under these acceptances, each by whoever accepted, oldest first. */
async function readStoredViews(
  workspace: Workspace,
  acceptances: readonly Acceptance[],
): Promise<StoredView[]> {
  const agents = new Map(acceptances.map(({ id, agent }) => [id, agent]));
  const records = await findReferringMemories(workspace, [...agents.keys()], "references");
  return records
    .filter(({ agent, refs = [] }) => refs.some((id) => agents.get(id) === agent))
    .flatMap((memory) => storedViewOf(memory) ?? []);
}

function storedViewOf(memory: Memory): StoredView | undefined {
  if (memory.type !== VIEW_TYPE) return undefined;
  const { data } = StoredViewSchema.safeParse(memory.data);
  if (data === undefined || data.recipe.receiver !== memory.agent) return undefined;
  return { memory, asked: data.asked, recipe: unpackRecipe(data.recipe, memory.refs ?? []) };
}

async function rerenderView(
  workspace: Workspace,
  { memory, recipe }: StoredView,
): Promise<ShownView> {
  const { artifacts, text } = await rerender(workspace, recipe);
  const matches = sha256(text) === recipe.digest;
  return { ...recipe, artifacts, text, memory: memory.id, at: memory.storedAt, matches };
}

/** What every holder of a delivery saw, rendered again, oldest first. */
export async function viewsOf(workspace: Workspace, id: string): Promise<ShownView[]> {
  const found = await workspace.store.findDelivery(workspace.name, id);
  if (found === undefined) throw unknownDelivery(id);
  const kept = await readStoredViews(workspace, await acceptancesOf(workspace, found));
  const views: ShownView[] = [];
  for (const each of kept) {
    if (isInScope(each.memory, workspace.reader)) views.push(await rerenderView(workspace, each));
  }
  return views;
}

/** The records that the envelope of a delivery and the views of its holders name. */
export async function listConsideredIds(workspace: Workspace, id: string): Promise<string[]> {
  const found = await workspace.store.findDelivery(workspace.name, id);
  if (found === undefined) throw unknownDelivery(id);
  const kept = await readStoredViews(workspace, await acceptancesOf(workspace, found));
  const inViews = kept.flatMap(({ recipe }) => [
    ...recipe.shown,
    ...recipe.earlier,
    ...recipe.omitted,
    ...recipe.gaps,
  ]);
  return [...parseEnvelope(workspace, found.envelope).refs, ...inViews].map((each) => each.id);
}

/** What the holder of a delivery was shown so far: the records, and what was missing. */
export async function findShownRecords(
  workspace: Workspace,
  { acceptedBy: id, holder: agent }: DeliveryRow,
): Promise<Pick<View, "gaps"> & { readonly ids: readonly string[] }> {
  const kept = id === "" ? [] : await readStoredViews(workspace, [{ id, agent }]);
  return {
    ids: kept.flatMap(({ recipe }) => recipe.shown.map(({ id }) => id)),
    gaps: kept.at(-1)?.recipe.gaps ?? [],
  };
}
