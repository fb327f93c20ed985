/** What a writer of the shared context is refused with: always with what is there now. */
import { BatonError } from "../base/errors.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { nearestNames } from "../base/nearest-names.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { Contradiction } from "./contradictions.ts";
import { type DecisionBody, nameOf } from "./items.ts";
import { type ItemName, liveItem, liveItems, readItemSnapshot } from "./stored-items.ts";

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
  const said =
    basedOn === undefined
      ? `${name} is there already, at version ${now}${by}.`
      : now === undefined
        ? `${name} was changed from version ${basedOn} and holds no more.`
        : `${name} is at version ${now}${by}, and the change is based on ${basedOn}.`;
  return new BatonError("context_conflict", {
    message: said,
    path: "basedOn",
    hint:
      now === undefined
        ? "Look at its history; without basedOn it is written anew."
        : `Look at what is there now, then write again with basedOn: ${now}.`,
    details: { ...item, basedOn: basedOn ?? null, version: now ?? null, now: there ?? null },
  });
}

export function contradictionError(
  item: DecisionBody,
  found: readonly Contradiction[],
): BatonError {
  const told = found.map(
    ({ key, question, choice, by, why }) => `${key}: "${question}" "${choice}" (by ${by}; ${why})`,
  );
  const keys = found.map(({ key }) => key);
  return new BatonError("contradiction", {
    message: `${nameOf(item)} speaks against ${told.join("; ")}. Nothing was written.`,
    path: "choice",
    hint: `Let it take the place of that one (supersedes: "${keys[0]}"), or write it all the same (despite: ${JSON.stringify(keys)}).`,
    details: { key: item.key, contradictions: found },
  });
}

export async function notInContext(workspace: Workspace, item: ItemName): Promise<BatonError> {
  const { retired } = await readItemSnapshot(workspace, item);
  const live = await liveItems(workspace, [item.section]);
  const known = live.map((each) => (each.kind === "item" ? each.item.key : each.key));
  const near = nearestNames(item.key, known);
  const gone = retired.kept;
  const before = gone === undefined ? "" : ` It was retired at version ${gone.version}.`;
  return new BatonError("not_in_context", {
    message: `Nothing in the shared context is called ${nameOf(item)}.${before}`,
    path: "key",
    hint:
      near.length > 0
        ? `Did you mean ${near.join(" or ")}?`
        : `baton context shows what holds${gone === undefined ? "" : `; baton context history ${item.section} ${item.key} what was`}.`,
    details: { ...item, near },
  });
}

export function tooMany(live: number): BatonError {
  return new BatonError("limit_exceeded", {
    message: `The shared context holds ${live} items, the limit is ${FORMAT_LIMITS.contextItems}.`,
    path: "key",
    hint: "Retire what holds no more: it is read at the start of every session.",
    details: { limit: "contextItems", max: FORMAT_LIMITS.contextItems, actual: live + 1 },
  });
}
