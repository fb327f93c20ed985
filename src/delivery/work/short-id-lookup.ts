/** Resolves the short ids that records have in the views of a delivery. */

import { BatonError } from "../../base/errors.ts";
import { isShortId, shortIdOf } from "../../text/short-ids.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { listConsideredIds } from "./views.ts";

/** Returns the full id of a record in a view of this delivery; any other id is returned unchanged. */
export async function resolveShortId(
  workspace: Workspace,
  delivery: string,
  id: string,
): Promise<string> {
  const [, envelope, part = ""] = /^([0-9a-f]{6})(#.+)$/.exec(id) ?? [];
  if (envelope !== undefined)
    return `${await resolveEnvelopeShortId(workspace, delivery, envelope)}${part}`;
  if (!isShortId(id)) return id;
  const named = (await listConsideredIds(workspace, delivery)).filter(
    (each) => shortIdOf(each) === id,
  );
  return onlyOf(named, { delivery, id });
}

/** Returns the id of an earlier envelope in a view of this delivery. */
async function resolveEnvelopeShortId(
  workspace: Workspace,
  delivery: string,
  id: string,
): Promise<string> {
  const envelopes = (await listConsideredIds(workspace, delivery))
    .filter((each) => each.startsWith("env_"))
    .map((each) => each.replace(/#.*/s, ""));
  return onlyOf(
    envelopes.filter((each) => shortIdOf(each) === id),
    { delivery, id },
  );
}

function onlyOf(
  named: readonly string[],
  { delivery, id }: { readonly delivery: string; readonly id: string },
): string {
  const [only, ...others] = new Set(named);
  if (only !== undefined && others.length === 0) return only;
  const what = only === undefined ? "No record" : `${others.length + 1} records`;
  throw new BatonError("unknown_memory", {
    message: `${what} in the views of ${delivery} ${only === undefined ? "has" : "have"} the short id ${id}.`,
    path: "id",
    hint: "Use the full id: mem_… or env_….",
    details: { delivery, id },
  });
}
