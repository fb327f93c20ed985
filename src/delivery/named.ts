/** Records by the short ids they have in the views of a delivery. */
import { isShortId, shortIdOf } from "../context/short-ids.ts";
import { BatonError } from "../errors.ts";
import type { Workspace } from "../store/workspace.ts";
import { consideredIn } from "./views.ts";

/** The whole id of a record that a view of this delivery names; any other id is what it is. */
export async function recordNamed(
  workspace: Workspace,
  delivery: string,
  id: string,
): Promise<string> {
  if (!isShortId(id)) return id;
  const named = (await consideredIn(workspace, delivery)).filter((each) => shortIdOf(each) === id);
  const [only, ...others] = new Set(named);
  if (only !== undefined && others.length === 0) return only;
  const what = only === undefined ? "No record" : `${others.length + 1} records`;
  throw new BatonError("unknown_memory", {
    message: `${what} of the views of ${delivery} ${only === undefined ? "has" : "have"} the short id ${id}.`,
    path: "id",
    hint: "Name the record by its whole id: mem_….",
    details: { delivery, id },
  });
}
