/**
 * The workspace setting with the roles that may change the shared context and quarantine records of other
 * agents (keepers), in the order in which proposals are sent to them. Agents of other roles propose.
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

/** The tag of every record of the shared context. */
export const SHARED_TAG = "shared-context";

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

/** Who may change what the whole team keeps to, and whether an agent may. */
interface KeeperCheck {
  readonly isKeeper: boolean;
  /** The keeper roles, as addresses. */
  readonly may: readonly string[];
  /** The role that the agent has now, not that at session start; empty if none. */
  readonly role: string;
}

/** Returns whether an agent has a keeper role now. */
export async function checkKeeper(workspace: Workspace, agent: string): Promise<KeeperCheck> {
  const [roles, registered] = await Promise.all([
    readKeepers(workspace),
    workspace.store.findAgent(workspace.name, agent),
  ]);
  const role = registered?.role ?? "";
  return { isKeeper: roles.includes(role), may: roles.map((each) => `role:${each}`), role };
}

/** Throws `not_permitted` unless the agent has a keeper role. */
export async function requireKeeper(workspace: Workspace, agent: string): Promise<void> {
  const { isKeeper, may, role } = await checkKeeper(workspace, agent);
  if (isKeeper) return;
  const own = role === "" ? "has no role" : `has the role "${role}"`;
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
