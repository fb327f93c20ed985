/** Builds the errors for refused writes to the shared context; each contains the current state. */
import { BatonError } from "../base/errors.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { nearestNames } from "../base/nearest-names.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { Contradiction } from "./contradictions.ts";
import { type DecisionBody, nameOf } from "./items.ts";
import { type ItemName, liveItem, liveItems, readItemSnapshot } from "./stored-items.ts";

/** Builds `context_conflict`, or `not_in_context` if the item never existed. `now`: its current version. */
export async function contextConflict(
  workspace: Workspace,
  item: ItemName,
  { now, basedOn }: { readonly now: number | undefined; readonly basedOn: number | undefined },
): Promise<BatonError> {
  const name = nameOf(item);
  if (now === undefined && (await readItemSnapshot(workspace, item)).retired.kept === undefined) {
    return notInContext(workspace, item);
  }
  const live = await liveItem(workspace, item);
  const there = live?.kind === "item" ? live.item : live;
  const by = live?.kind === "item" ? ` (by ${live.item.by})` : "";
  const statement =
    basedOn === undefined
      ? `${name} already exists at version ${now}${by}.`
      : now === undefined
        ? `${name} was retired; the change is based on version ${basedOn}.`
        : `${name} is at version ${now}${by}; the change is based on version ${basedOn}.`;
  return new BatonError("context_conflict", {
    message: statement,
    path: "basedOn",
    hint:
      now === undefined
        ? "Check its history, then write it without basedOn to create it again."
        : `Read the current version, then write again with basedOn: ${now}.`,
    details: { ...item, basedOn: basedOn ?? null, version: now ?? null, now: there ?? null },
  });
}

/** Builds `contradiction`: the decision conflicts with active decisions. */
export function contradictionError(
  item: DecisionBody,
  found: readonly Contradiction[],
): BatonError {
  const descriptions = found.map(
    ({ key, question, choice, by, why }) => `${key}: "${question}" "${choice}" (by ${by}; ${why})`,
  );
  const keys = found.map(({ key }) => key);
  return new BatonError("contradiction", {
    message: `${nameOf(item)} conflicts with ${descriptions.join("; ")}. Nothing was written.`,
    path: "choice",
    hint: `Replace that decision (supersedes: "${keys[0]}"), or keep both (despite: ${JSON.stringify(keys)}).`,
    details: { key: item.key, contradictions: found },
  });
}

/** Builds `not_in_context`, with similar keys and the version of the retirement, if any. */
export async function notInContext(workspace: Workspace, item: ItemName): Promise<BatonError> {
  const { retired } = await readItemSnapshot(workspace, item);
  const live = await liveItems(workspace, [item.section]);
  const known = live.map((each) => (each.kind === "item" ? each.item.key : each.key));
  const near = nearestNames(item.key, known);
  const gone = retired.kept;
  const before = gone === undefined ? "" : ` It was retired at version ${gone.version}.`;
  return new BatonError("not_in_context", {
    message: `The shared context has no item ${nameOf(item)}.${before}`,
    path: "key",
    hint:
      near.length > 0
        ? `Did you mean ${near.join(" or ")}?`
        : `Run baton context to list the items${gone === undefined ? "" : `, or baton context history ${item.section} ${item.key} to see its versions`}.`,
    details: { ...item, near },
  });
}

/** Builds `limit_exceeded` for a new item. */
export function tooMany(live: number): BatonError {
  return new BatonError("limit_exceeded", {
    message: `The shared context has ${live} items; the limit is ${FORMAT_LIMITS.contextItems}.`,
    path: "key",
    hint: "Retire items that no longer apply; the shared context is read at the start of every session.",
    details: { limit: "contextItems", max: FORMAT_LIMITS.contextItems, actual: live + 1 },
  });
}
