/** `hub.settings`: all settings of a workspace as one document. */
import * as z from "zod";
import { LintRulesSchema, readLintRules, setLintRules } from "../../context/lint/lint-settings.ts";
import type { AllLintRules } from "../../context/lint/rule.ts";
import {
  type HandoffRules,
  HandoffRulesSchema,
  readHandoffRules,
  setHandoffRules,
} from "../../delivery/settings/handoff-rules.ts";
import { Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { ReleasersSchema, readReleasers, setReleasers } from "../../ledger/releasers.ts";
import { KeepersSchema, readKeepers, setKeepers } from "../../memory/keepers.ts";
import {
  SecretModeSchema,
  secretPolicy,
  setSecretPolicy,
} from "../../memory/redaction/secret-policy.ts";
import {
  type RetentionRules,
  RetentionSchema,
  retentionRules,
  setRetention,
} from "../../memory/traces/retention.ts";
import { type FullProfile, ProfileSchema } from "../../profiles/role-profiles.ts";
import { listProfiles, requireFreeWindow, setProfile } from "../../profiles/workspace-profiles.ts";
import type { SecretMode, Workspace } from "../../workspace/workspace.ts";

/** The settings of a workspace, defaults included. */
export interface Settings {
  /** How long traces and events are kept. Default: forever. */
  readonly retention: RetentionRules;
  /** What happens to keys, passwords and tokens in input. Default: "redact". */
  readonly secrets: SecretMode;
  /** Which lint rules are off, warn, or refuse a handoff. */
  readonly lint: AllLintRules;
  /** Allowed actions, and whether unregistered payload types are accepted. */
  readonly handoffs: HandoffRules;
  /** Roles that may release ledger items set by other agents. */
  readonly releasers: readonly string[];
  /** Roles that may change the shared context; proposals go to the first of them that has an agent. */
  readonly keepers: readonly string[];
  /** What the views of each role prefer. `changed`: true if it differs from the default of that role. */
  readonly profiles: Readonly<Record<string, FullProfile & { readonly changed: boolean }>>;
}

/**
 * Changes to the settings. Each part replaces that part of the document, except `lint`, `handoffs` and
 * `profiles`, which are merged.
 */
export const SettingsInputSchema = z.strictObject({
  retention: RetentionSchema.optional(),
  secrets: SecretModeSchema.optional(),
  lint: LintRulesSchema.optional(),
  handoffs: HandoffRulesSchema.optional(),
  releasers: ReleasersSchema.optional(),
  keepers: KeepersSchema.optional(),
  /** By role; null restores the default. */
  profiles: z.record(Name, ProfileSchema.nullable()).optional(),
});

export type SettingsInput = z.input<typeof SettingsInputSchema>;

/** `hub.settings`: reads and changes the settings of the workspace. */
export interface HubSettings {
  /** Returns the settings of the workspace, defaults included. */
  get(): Promise<Settings>;
  /**
   * Changes the parts that are passed and returns the whole document. If any part is invalid, throws
   * `invalid_input` and changes nothing.
   */
  update(changes: SettingsInput): Promise<Settings>;
}

/** Returns `hub.settings` for a workspace. */
export function hubSettings(workspace: Workspace): HubSettings {
  const get = async (): Promise<Settings> => {
    const [retention, secrets, lint, handoffs, releasing, keeping, roles] = await Promise.all([
      retentionRules(workspace),
      secretPolicy(workspace),
      readLintRules(workspace),
      readHandoffRules(workspace),
      readReleasers(workspace),
      readKeepers(workspace),
      listProfiles(workspace),
    ]);
    return {
      retention,
      secrets,
      lint,
      handoffs,
      releasers: releasing,
      keepers: keeping,
      profiles: Object.fromEntries(roles.map(({ role, ...profile }) => [role, profile])),
    };
  };
  return {
    get,
    async update(changes) {
      const how = { code: "invalid_input", what: "The settings" } as const;
      // Checks all parts before any is written.
      const checked = parseOrThrow(SettingsInputSchema, changes, how);
      for (const [role, profile] of Object.entries(checked.profiles ?? {})) {
        if (profile !== null) requireFreeWindow(role, profile);
      }
      const { retention, secrets, lint, handoffs, releasers, keepers, profiles = {} } = changes;
      for (const [role, profile] of Object.entries(profiles)) {
        await setProfile(workspace, role, profile ?? undefined);
      }
      if (lint !== undefined) await setLintRules(workspace, lint);
      if (handoffs !== undefined) await setHandoffRules(workspace, handoffs);
      if (releasers !== undefined) await setReleasers(workspace, releasers);
      if (keepers !== undefined) await setKeepers(workspace, keepers);
      if (retention !== undefined) await setRetention(workspace, retention);
      if (secrets !== undefined) await setSecretPolicy(workspace, secrets);
      return get();
    },
  };
}
