/**
 * What a caller may change of agents, in addition to the level that registering requires: owners, and whether
 * an agent is disabled, are for admins, because private records follow the owner; and an agent with a token
 * of a higher level is for callers with that level, so that no caller takes over or stops a stronger one.
 */
import { hasAccess } from "../../access/levels.ts";
import { requireAccess } from "../../access/refusals.ts";
import { canonicalJson } from "../../base/digest.ts";
import { isBatonError } from "../../base/errors.ts";
import type { AgentInfo, AgentProfile } from "../../memory/agents.ts";
import type { OperationContext } from "../operation.ts";

/** Throws `forbidden` if the caller may not register the agent with this profile. */
export async function requireRegistration(
  acting: OperationContext,
  name: string,
  profile: AgentProfile,
): Promise<void> {
  if (hasAccess(acting.access, "admin")) return;
  const current = await findAgent(acting, name);
  const changed = changedFields(current, profile);
  if (changed.includes("owner")) requireAccess(acting, "admin", "Setting the owner of an agent");
  if (changed.includes("status") && [profile.status, current?.status].includes("disabled")) {
    requireAccess(acting, "admin", "Disabling or enabling an agent");
  }
  if (current !== undefined && changed.length > 0) await requireStrength(acting, current.id);
}

/** Throws `forbidden` if the agent has a token of a higher level than the caller's. */
export async function requireWeakerAgent(acting: OperationContext, name: string): Promise<void> {
  if (hasAccess(acting.access, "admin")) return;
  const current = await findAgent(acting, name);
  if (current !== undefined) await requireStrength(acting, current.id);
}

async function requireStrength(acting: OperationContext, agent: string): Promise<void> {
  for (const { state, access, agent: bearer } of await acting.hub.tokens.list()) {
    if (state !== "good" || bearer !== agent) continue;
    requireAccess(acting, access, `Changing agent "${agent}", which has a token of that level,`);
  }
}

/** Returns the agent; undefined if it is not registered. */
async function findAgent({ hub }: OperationContext, name: string): Promise<AgentInfo | undefined> {
  try {
    return await hub.agents.get(name);
  } catch (error) {
    if (isBatonError(error) && error.code === "unknown_agent") return undefined;
    throw error;
  }
}

/** Returns the fields of the profile that would change; aliases are only ever added. */
function changedFields(current: AgentInfo | undefined, profile: AgentProfile): string[] {
  const before: Readonly<Record<string, unknown>> = { status: "active", ...current };
  return Object.entries(Object(profile) as object).flatMap(([field, value]) => {
    if (value === undefined) return [];
    const isSame = field === "aliases" ? isKnown(current, value) : isEqual(before[field], value);
    return isSame ? [] : [field];
  });
}

const isKnown = (current: AgentInfo | undefined, aliases: unknown): boolean =>
  Array.isArray(aliases) &&
  aliases.every((alias) => alias === current?.id || current?.aliases.includes(alias));

const isEqual = (before: unknown, value: unknown): boolean =>
  before !== undefined &&
  canonicalJson(before, "invalid_input") === canonicalJson(value, "invalid_input", "profile");
