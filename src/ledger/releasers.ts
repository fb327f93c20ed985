/**
 * The workspace setting with the roles that may release a constraint set by another agent. The agent that
 * set a constraint may always release it.
 */
import * as z from "zod";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { Name } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { changeSetting } from "../memory/audit/change-setting.ts";
import { entryValue } from "../workspace/entries.ts";
import type { Workspace } from "../workspace/workspace.ts";

const RELEASERS = { kind: "setting", name: "releasers" } as const;

const DEFAULT_ROLES = ["coordinator", "planner", "lead"] as const;

/** Role names; an empty list allows only the agent that set an item to release it. */
export const ReleasersSchema = z.array(Name).max(FORMAT_LIMITS.listItems);

/** Returns the releaser roles. Default: coordinator, planner and lead. */
export async function readReleasers(workspace: Workspace): Promise<readonly string[]> {
  const { kind, name } = RELEASERS;
  const entry = await workspace.store.findEntry(workspace.name, kind, name);
  return entryValue<{ readonly roles: string[] }>(entry)?.roles ?? DEFAULT_ROLES;
}

/** Sets the releaser roles and returns them, sorted and without duplicates. */
export async function setReleasers(
  workspace: Workspace,
  roles: readonly string[],
): Promise<readonly string[]> {
  const checked = parseOrThrow(ReleasersSchema, roles, {
    code: "invalid_input",
    what: "The roles",
    prefix: "roles",
  });
  const value = { roles: [...new Set(checked)].sort() };
  await changeSetting(workspace, RELEASERS, () => ({ value }));
  return value.roles;
}
