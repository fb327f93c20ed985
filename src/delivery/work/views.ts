/**
 * Views of a delivery as they were shown. A view is composed when a receiver first requests it, and stored
 * under its lease before the receiver gets it, as a recipe: which records, how much of each, and the digest
 * of the text. It is therefore known afterwards what each holder saw, including records that turn out to be
 * wrong.
 *
 * Nothing that was shown is copied: records never change, so the text is rendered again from them and
 * compared with the digest.
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
  /** Id of the record that stores it. */
  readonly memory: string;
  /** When it was composed, in milliseconds since 1970. */
  readonly at: number;
  /** False if something it showed was deleted since, so that the text differs from what was seen. */
  readonly matches: boolean;
}

/** Options of `work.view()`. */
export const WorkViewSchema = ViewOptionsSchema.extend({
  /** Composes a new view even if the same one was shown before. */
  anew: z.literal(true).optional(),
});

/** Options of `work.view()`: budget, role, strategy, and whether to compose a new view. */
export type WorkViewOptions = ViewOptions & { readonly anew?: true | undefined };

/** A request for a view. */
export interface ViewRequest {
  readonly options: ViewOptions;
  readonly anew: boolean;
  /** Canonical text of the options; equal for equal requests. */
  readonly key: string;
}

/** Checks the options of `work.view()`; throws `invalid_input`. */
export function parseViewRequest(given: WorkViewOptions): ViewRequest {
  const { anew = false, ...options } = parseOrThrow(WorkViewSchema, given, {
    code: "invalid_input",
    what: "The options",
  });
  return { options, anew, key: canonicalJson(options, "invalid_input") };
}

/**
 * A view, and the id of the current envelope; differs from the holder's if the sender has extended the work.
 */
export interface ViewResult {
  readonly view: ShownView;
  readonly envelope: string;
}

/** Returns the view that this holder got for the same request; otherwise composes one and stores it first. */
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
  // On the branch of the acceptance: the record is about the delivery, not about the subject of the work.
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

/**
 * References the acceptance first, then what is shown, so that a view can be found from each record in it.
 */
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
    content: `Showed ${view.receiver} ${shown.length} memories for "${envelope.task}", in ${view.tokens} tokens.`,
    data: { asked, delivery: delivery.id, recipe: packRecipe(recipeOf(view), refs) },
    refs,
  };
}

/** A view as it is stored. */
interface StoredView {
  readonly memory: Memory;
  readonly asked: string;
  readonly recipe: Recipe;
}

/** An acceptance record and its agent. */
type Acceptance = Pick<Memory, "id" | "agent">;

/** Returns the views composed under these acceptances, each by the agent that accepted, oldest first. */
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

/** Returns what every holder of a delivery saw, rendered again, oldest first. Throws `unknown_delivery`. */
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

/** Returns the ids in the envelope of a delivery and in the views of its holders. */
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

/** Returns what the holder of a delivery was shown so far: ids of the records, and the gaps. */
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
