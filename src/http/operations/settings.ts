/** The rules of a workspace: looked up, and set. */
import * as z from "zod";
import type { PayloadTypeInfo } from "../../delivery/settings/payload-types.ts";
import { FreeForm, Name } from "../../envelope/schema.ts";
import { ReleasersSchema } from "../../ledger/releasers.ts";
import { KeepersSchema } from "../../shared-context/keepers.ts";
import { given } from "../given.ts";
import type { Operations } from "../operation.ts";
import {
  AllLintRulesForm,
  HandoffRulesForm,
  HandoffRulesInputForm,
  LintRulesForm,
  PayloadTypeInfoForm,
  PayloadTypeVersionForm,
  RetentionForm,
  RoleProfileForm,
  RoleProfileInfoForm,
  SecretModeForm,
} from "../schemas/keeping.ts";
import { DONE, Done } from "../schemas/plain.ts";

const Nothing = z.strictObject({});
const Roles = z.array(z.string());
const OfRole = z.strictObject({ role: Name });
const OfType = z.strictObject({ name: Name });

export const settingsOperations = {
  releasers: {
    summary: "Lists the roles that may release what others have set.",
    access: "reader",
    input: Nothing,
    output: Roles,
    run: ({ hub }) => hub.releasers(),
  },
  setReleasers: {
    summary: "Says which roles may release what others have set.",
    access: "coordinator",
    input: z.strictObject({ roles: ReleasersSchema }),
    output: Roles,
    run: async ({ hub }, { roles }) => hub.releasers(given(roles, "roles")),
  },
  keepers: {
    summary: "Lists the roles that may change the shared context, in the order they are asked.",
    access: "reader",
    input: Nothing,
    output: Roles,
    run: ({ hub }) => hub.context.keepers(),
  },
  setKeepers: {
    summary: "Says which roles may change the shared context.",
    access: "coordinator",
    input: z.strictObject({ roles: KeepersSchema }),
    output: Roles,
    run: async ({ hub }, { roles }) => hub.context.keepers(given(roles, "roles")),
  },
  lintRules: {
    summary: "Shows how the rules of the lint count.",
    access: "reader",
    input: Nothing,
    output: AllLintRulesForm,
    run: ({ hub }) => hub.lintRules(),
  },
  setLintRules: {
    summary: 'Says how rules of the lint count; "refuse" stops a handoff.',
    access: "coordinator",
    input: z.strictObject({ rules: LintRulesForm }),
    output: AllLintRulesForm,
    run: async ({ hub }, { rules }) => hub.lintRules(given(rules, "rules")),
  },
  retention: {
    summary: "Shows how long traces and events are kept.",
    access: "reader",
    input: Nothing,
    output: RetentionForm,
    run: ({ hub }) => hub.retention(),
  },
  setRetention: {
    summary: "Says how long traces and events are kept, all of it: what is not named, for ever.",
    access: "admin",
    input: z.strictObject({ rules: RetentionForm }),
    output: RetentionForm,
    run: async ({ hub }, { rules }) => hub.retention(given(rules, "rules")),
  },
  secretPolicy: {
    summary: "Shows what is done about secrets in what is said.",
    access: "reader",
    input: Nothing,
    output: SecretModeForm,
    run: async ({ hub }) => ({ mode: await hub.secretPolicy() }),
  },
  setSecretPolicy: {
    summary: "Says what is done about secrets in what is said; answers with what counts.",
    access: "admin",
    input: SecretModeForm,
    output: SecretModeForm,
    run: async ({ hub }, { mode }) => ({ mode: await hub.secretPolicy(given(mode, "mode")) }),
  },
  payloadTypes: {
    summary: "Lists the registered payload types, each with the JSON Schema that is enforced.",
    access: "reader",
    input: Nothing,
    output: z.array(PayloadTypeInfoForm),
    run: ({ hub }) => hub.payloadTypes(),
  },
  payloadTypeVersions: {
    summary: "Lists every version of a payload type, oldest first, also after it was removed.",
    access: "reader",
    input: OfType,
    output: z.array(PayloadTypeVersionForm),
    run: ({ hub }, { name }) => hub.payloadTypeVersions(name),
  },
  setPayloadType: {
    summary: "Registers a payload type; a changed schema becomes a new version.",
    access: "coordinator",
    input: OfType.extend({ schema: FreeForm }),
    output: PayloadTypeInfoForm,
    run: async ({ hub, named }, { name, schema }) =>
      (await hub.payloadType(name, given(schema, "schema"), { by: named })) as PayloadTypeInfo,
  },
  dropPayloadType: {
    summary: "Removes a payload type; its versions are kept.",
    access: "coordinator",
    input: OfType,
    output: Done,
    async run({ hub, named }, { name }) {
      await hub.payloadType(name, undefined, { by: named });
      return DONE;
    },
  },
  handoffRules: {
    summary: "Shows the allowed actions, and whether unregistered payload types are accepted.",
    access: "reader",
    input: Nothing,
    output: HandoffRulesForm,
    run: ({ hub }) => hub.handoffRules(),
  },
  setHandoffRules: {
    summary: "Sets the allowed actions, and whether unregistered payload types are accepted.",
    access: "coordinator",
    input: z.strictObject({ rules: HandoffRulesInputForm }),
    output: HandoffRulesForm,
    run: async ({ hub }, { rules }) => hub.handoffRules(given(rules, "rules")),
  },
  profiles: {
    summary: "Lists what every described role looks for.",
    access: "reader",
    input: Nothing,
    output: z.array(RoleProfileInfoForm),
    run: ({ hub }) => hub.profiles(),
  },
  setProfile: {
    summary: "Says what a role looks for, over what comes with Baton.",
    access: "coordinator",
    input: OfRole.extend({ profile: RoleProfileForm }),
    output: Done,
    async run({ hub }, { role, profile }) {
      await hub.profile(role, given(profile, "profile"));
      return DONE;
    },
  },
  dropProfile: {
    summary: "Takes back what the team has said of a role.",
    access: "coordinator",
    input: OfRole,
    output: Done,
    async run({ hub }, { role }) {
      await hub.profile(role, undefined);
      return DONE;
    },
  },
} satisfies Operations<
  | "releasers"
  | "setReleasers"
  | "keepers"
  | "setKeepers"
  | "lintRules"
  | "setLintRules"
  | "retention"
  | "setRetention"
  | "secretPolicy"
  | "setSecretPolicy"
  | "payloadTypes"
  | "payloadTypeVersions"
  | "setPayloadType"
  | "dropPayloadType"
  | "handoffRules"
  | "setHandoffRules"
  | "profiles"
  | "setProfile"
  | "dropProfile"
>;
