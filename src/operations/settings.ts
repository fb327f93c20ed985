/** Operations on the settings and payload types of a workspace. */
import * as z from "zod";
import { requireAccess } from "../access/refusals.ts";
import type { JsonSchema } from "../envelope/json-schema.ts";
import { FreeForm, Name } from "../envelope/schema.ts";
import { SettingsInputSchema } from "../hub/groups/settings.ts";
import { operation } from "./operation.ts";
import { requireField } from "./required-fields.ts";
import { DONE, Done } from "./schemas/common.ts";
import { PayloadTypeInfoForm, PayloadTypeVersionForm, SettingsForm } from "./schemas/workspace.ts";

const Nothing = z.strictObject({});
const ByName = z.strictObject({ name: Name });

export const settingsOperations = {
  "settings.get": operation({
    summary: "Returns the settings of the workspace, defaults included.",
    route: "GET /v1/settings",
    access: "reader",
    on: "hub",
    input: Nothing,
    output: SettingsForm,
  }),
  "settings.update": operation({
    summary: "Changes the given settings and returns all settings.",
    route: "PATCH /v1/settings",
    access: "coordinator",
    on: "hub",
    input: SettingsInputSchema,
    output: SettingsForm,
    rest: true,
    /** Requires admin: retention deletes data, and the secret policy decides what is stored permanently. */
    async guard(acting, { retention, secrets }) {
      if (retention !== undefined || secrets !== undefined) requireAccess(acting, "admin");
    },
  }),
  "payloadTypes.list": operation({
    summary: "Lists the registered payload types, each with the JSON Schema that is enforced.",
    route: "GET /v1/payload-types",
    access: "reader",
    on: "hub",
    input: Nothing,
    output: z.array(PayloadTypeInfoForm),
  }),
  "payloadTypes.versions": operation({
    summary: "Lists every version of a payload type, oldest first, also after it was removed.",
    route: "GET /v1/payload-types/:name/versions",
    access: "reader",
    on: "hub",
    args: ["name"],
    input: ByName,
    output: z.array(PayloadTypeVersionForm),
  }),
  "payloadTypes.set": operation({
    summary: "Registers a payload type; a changed schema becomes a new version.",
    route: "PUT /v1/payload-types/:name",
    access: "coordinator",
    on: "hub",
    args: ["name", "schema"],
    input: ByName.extend({ schema: FreeForm }),
    output: PayloadTypeInfoForm,
    run: async ({ hub, named }, { name, schema }) =>
      hub.payloadTypes.set(name, requireField(schema, "schema") as JsonSchema, { by: named }),
  }),
  "payloadTypes.delete": operation({
    summary: "Removes a payload type; its versions are kept.",
    route: "DELETE /v1/payload-types/:name",
    access: "coordinator",
    on: "hub",
    args: ["name"],
    input: ByName,
    output: Done,
    async run({ hub, named }, { name }) {
      await hub.payloadTypes.delete(name, { by: named });
      return DONE;
    },
  }),
};
