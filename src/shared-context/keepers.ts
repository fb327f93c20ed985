/**
 * The workspace setting with the roles that may change the shared context (keepers), in the order in which
 * proposals are sent to them. Agents of other roles propose changes.
 */
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { Name } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { changeSetting } from "../memory/audit/change-setting.ts";
import { entryValue } from "../workspace/entries.ts";
import type { Workspace } from "../workspace/workspace.ts";

const KEEPERS = { kind: "setting", name: "keepers" } as const;

const DEFAULT_ROLES = ["coordinator", "memory-keeper"] as const;

/** Role names, at least one. */
export const KeepersSchema = z.array(Name).min(1).max(FORMAT_LIMITS.tags);

/** Returns the keeper roles. Default: coordinator, then memory-keeper. */
export async function readKeepers(workspace: Workspace): Promise<readonly string[]> {
  const entry = await workspace.store.findEntry(workspace.name, KEEPERS.kind, KEEPERS.name);
  return entryValue<{ readonly roles: string[] }>(entry)?.roles ?? DEFAULT_ROLES;
}

/** Sets the keeper roles and returns them without duplicates. Proposals go to the first that has an agent. */
export async function setKeepers(
  workspace: Workspace,
  roles: readonly string[],
): Promise<readonly string[]> {
  const how = { code: "invalid_input", what: "The roles", prefix: "roles" } as const;
  const value = { roles: [...new Set(parseOrThrow(KeepersSchema, roles, how))] };
  await changeSetting(workspace, KEEPERS, () => ({ value }));
  return value.roles;
}

/** Throws `not_permitted` unless the agent's current role (not that at session start) is a keeper role. */
export async function requireKeeper(workspace: Workspace, agent: string): Promise<void> {
  const [roles, registered] = await Promise.all([
    readKeepers(workspace),
    workspace.store.findAgent(workspace.name, agent),
  ]);
  if (registered !== undefined && roles.includes(registered.role)) return;
  const may = roles.map((role) => `role:${role}`);
  const own = registered?.role ? `has the role "${registered.role}"` : "has no role";
  throw new BatonError("not_permitted", {
    message: `Only ${may.join(" and ")} can change the shared context; ${agent} ${own}.`,
    path: "as",
    hint: "Propose the change (agent.context.propose, baton context propose); it is sent to one of these roles.",
    details: { agent, may },
  });
}

/**
 * Returns the role that a proposal goes to: the first keeper role with an active agent, else with a paused
 * one. Throws `unknown_role` if no agent has a keeper role.
 */
export async function keeperRole(workspace: Workspace): Promise<string> {
  const [roles, agents] = await Promise.all([
    readKeepers(workspace),
    workspace.store.listAgents(workspace.name),
  ]);
  const having = (status: string): string | undefined =>
    roles.find((role) => agents.some((agent) => agent.role === role && agent.status === status));
  const role = having("active") ?? having("paused");
  if (role !== undefined) return role;
  throw new BatonError("unknown_role", {
    message: `No agent in workspace "${workspace.name}" can change the shared context; it requires the role ${roles.join(" or ")}.`,
    path: "to",
    hint: `Register one: hub.agent("…", { role: "${roles[0]}" }).`,
    details: { roles },
  });
}
