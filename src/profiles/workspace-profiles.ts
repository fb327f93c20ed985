/**
 * The role profiles of a workspace: the built-in ones, with the changes of the team. The changes are stored
 * as entries, so that every process composes views with the same profiles.
 */

import type * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { Name } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { changeSetting } from "../memory/audit/change-setting.ts";
import { redactSecrets } from "../memory/redaction/secret-policy.ts";
import { entriesOf, entryValue } from "../workspace/entries.ts";
import type { Workspace } from "../workspace/workspace.ts";
import {
  type FullProfile,
  NEUTRAL_PROFILE,
  ProfileSchema,
  ROLE_ALIASES,
  ROLE_PROFILES,
  type RoleProfile,
} from "./role-profiles.ts";

const PROFILE = "profile";

type CheckedProfile = z.output<typeof ProfileSchema>;

/** The profile of a role, as it applies in the workspace. */
export interface RoleProfileInfo extends FullProfile {
  readonly role: string;
  /** True if the team has changed it. */
  readonly changed: boolean;
}

/**
 * Changes the profile of a role; undefined restores the built-in one. Throws `invalid_input` for an invalid
 * profile.
 */
export async function setProfile(
  workspace: Workspace,
  role: string,
  profile: RoleProfile | undefined,
): Promise<void> {
  const redacted = await redactSecrets(workspace, { role, profile });
  const name = parseOrThrow(Name, redacted.role, {
    code: "invalid_input",
    what: "The role",
    prefix: "role",
  });
  const value =
    redacted.profile === undefined
      ? undefined
      : parseOrThrow(ProfileSchema, redacted.profile, {
          code: "invalid_input",
          what: "The profile",
        });
  if (value !== undefined) requireFreeWindow(name, value);
  await changeSetting(workspace, { kind: PROFILE, name }, () => ({ value }));
}

/** Throws `invalid_input` if a profile reserves the whole window. */
export function requireFreeWindow(role: string, profile: CheckedProfile): void {
  const { system, instructions, work } = profileOf(role, profile).reserve;
  const reserved = system + instructions + work;
  if (reserved < 1) return;
  throw new BatonError("invalid_input", {
    message: `reserve: system ${system}, instructions ${instructions} and work ${work} together reserve the whole window.`,
    path: "reserve",
    hint: "Lower the shares of reserve so that their sum is less than 1.",
  });
}

/** Returns the profile of every built-in or changed role, sorted by name. */
export async function listProfiles(workspace: Workspace): Promise<RoleProfileInfo[]> {
  const set = new Map<string, CheckedProfile>();
  for await (const entry of entriesOf(workspace, PROFILE)) {
    const value = entryValue<CheckedProfile>(entry);
    if (value !== undefined) set.set(entry.name, value);
  }
  return [...new Set([...Object.keys(ROLE_PROFILES), ...set.keys()])]
    .sort()
    .map((role) => ({ role, changed: set.has(role), ...profileOf(role, set.get(role)) }));
}

/** Returns the profile that applies to a role; the neutral one without a role. */
export async function roleProfile(
  workspace: Workspace,
  role: string | undefined,
): Promise<FullProfile> {
  if (role === undefined) return NEUTRAL_PROFILE;
  const entry = await workspace.store.findEntry(workspace.name, PROFILE, role);
  return profileOf(role, entryValue<CheckedProfile>(entry));
}

/** Merges the neutral profile, the built-in one and the changes of the team; later ones take precedence. */
export function profileOf(role: string, changes: CheckedProfile = {}): FullProfile {
  const name = role.toLowerCase();
  const known = Object.hasOwn(ROLE_ALIASES, name) ? ROLE_ALIASES[name] : name;
  const own = Object.hasOwn(ROLE_PROFILES, known ?? "") ? ROLE_PROFILES[known ?? ""] : undefined;
  return mergeProfiles(mergeProfiles(NEUTRAL_PROFILE, own ?? {}), changes);
}

function mergeProfiles(base: FullProfile, { reserve, ...more }: RoleProfile): FullProfile {
  return {
    parts: { ...base.parts, ...more.parts },
    reserve: {
      instructions: reserve?.instructions ?? base.reserve.instructions,
      system: reserve?.system ?? base.reserve.system,
      work: reserve?.work ?? base.reserve.work,
    },
    sections: { ...base.sections, ...more.sections },
    strategy: more.strategy ?? base.strategy,
    tags: { ...base.tags, ...more.tags },
    tokens: more.tokens ?? base.tokens,
    types: { ...base.types, ...more.types },
  };
}
