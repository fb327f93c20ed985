/**
 * Who may change the shared context: agents of these roles, in the order they are asked. Everybody else
 * proposes. Shared by the workspace.
 */
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { Name } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { changeEntry, entryValue } from "../workspace/entries.ts";
import type { Workspace } from "../workspace/workspace.ts";

const KEEPERS = { kind: "setting", name: "keepers" } as const;

const DEFAULT_ROLES = ["coordinator", "memory-keeper"] as const;

export const KeepersSchema = z.array(Name).min(1).max(FORMAT_LIMITS.tags);

export async function readKeepers(workspace: Workspace): Promise<readonly string[]> {
  const entry = await workspace.store.findEntry(workspace.name, KEEPERS.kind, KEEPERS.name);
  return entryValue<{ readonly roles: string[] }>(entry)?.roles ?? DEFAULT_ROLES;
}

/** Sets the roles; who stands first is asked first. */
export async function setKeepers(
  workspace: Workspace,
  roles: readonly string[],
): Promise<readonly string[]> {
  const how = { code: "invalid_input", what: "The roles", prefix: "roles" } as const;
  const value = { roles: [...new Set(parseOrThrow(KeepersSchema, roles, how))] };
  await changeEntry(workspace, KEEPERS, () => ({ value }));
  return value.roles;
}

/** By the role the agent has now, not the one it had when it began. */
export async function requireKeeper(workspace: Workspace, agent: string): Promise<void> {
  const [roles, registered] = await Promise.all([
    readKeepers(workspace),
    workspace.store.findAgent(workspace.name, agent),
  ]);
  if (registered !== undefined && roles.includes(registered.role)) return;
  const may = roles.map((role) => `role:${role}`);
  const own = registered?.role ? `has the role "${registered.role}"` : "has no role";
  throw new BatonError("not_permitted", {
    message: `The shared context is changed by ${may.join(" and ")}; ${agent} ${own}.`,
    path: "as",
    hint: "Propose the change (agent.context.propose, baton context propose): it reaches one of them.",
    details: { agent, may },
  });
}

/** The role a proposal goes to: the first of them that somebody can take it up for. */
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
    message: `Nobody in workspace "${workspace.name}" keeps the shared context: it takes ${roles.join(" or ")}.`,
    path: "to",
    hint: `Register somebody: hub.agent("…", { role: "${roles[0]}" }), or baton agent add … --role ${roles[0]}.`,
    details: { roles },
  });
}
