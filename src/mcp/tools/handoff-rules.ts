/** The tool `handoff_rules` lists the rules of handoffs; with arguments, a coordinator changes them. */
import * as z from "zod";
import { requireAccess } from "../../access/refusals.ts";
import { BatonError } from "../../base/errors.ts";
import { UNREGISTERED_MODES } from "../../delivery/settings/registry.ts";
import { formatRules } from "../rules-text.ts";
import { APPEND_ONLY, type Connection, freeObject, Text, tool } from "../tool.ts";

const input = z.strictObject({
  payload_type: z
    .string()
    .min(1)
    .optional()
    .describe("The payload type to register, with schema, or to remove."),
  schema: freeObject(
    "The JSON Schema (draft 2020-12) that data of this type must match.",
  ).optional(),
  remove: z.boolean().optional().describe("True: remove the type."),
  actions: z
    .array(z.string().min(1))
    .optional()
    .describe("The actions that handoffs may use; empty: any."),
  unregistered: z
    .enum(UNREGISTERED_MODES)
    .optional()
    .describe("What happens to payloads of unregistered types."),
});

type Args = z.output<typeof input>;

/** Lists the handoff rules, or changes them. */
export const handoffRules = tool({
  name: "handoff_rules",
  title: "Handoff rules",
  description:
    "Lists the payload types handoffs can carry, with the JSON Schema of each, and the allowed actions. With arguments it registers or removes a type, or sets the rules, for every agent; this requires coordinator access.",
  input,
  output: z.strictObject({
    text: Text,
    payload_types: z.array(z.strictObject({ name: z.string(), version: z.number() })),
    actions: z.array(z.string()).describe("Empty: any."),
    unregistered: z.enum(UNREGISTERED_MODES),
  }),
  annotations: { ...APPEND_ONLY, idempotentHint: true },

  async run(args, connection) {
    if (Object.keys(args).length > 0) await change(args, connection);
    const { hub } = connection;
    const [types, rules] = await Promise.all([
      hub.payloadTypes.list(),
      hub.settings.get().then((settings) => settings.handoffs),
    ]);
    return {
      text: formatRules(types, rules),
      payload_types: types.map(({ name, version }) => ({ name, version })),
      actions: [...rules.actions],
      unregistered: rules.unregistered,
    };
  },
});

async function change(args: Args, { access, agent, hub }: Connection): Promise<void> {
  requireAccess({ access }, "coordinator");
  requireSchemaOrRemove(args);
  const { payload_type: type, schema, actions, unregistered } = args;
  if (type !== undefined) {
    const by = { by: agent.id };
    await (schema === undefined
      ? hub.payloadTypes.delete(type, by)
      : hub.payloadTypes.set(type, schema, by));
  }
  if (actions === undefined && unregistered === undefined) return;
  await hub.settings.update({
    handoffs: { ...(actions && { actions }), ...(unregistered && { unregistered }) },
  });
}

/** Throws unless a payload type comes with exactly one of schema and remove, so that neither is guessed. */
function requireSchemaOrRemove({ payload_type: type, schema, remove }: Args): void {
  const isRemoved = remove === true;
  if (type === undefined && schema === undefined && !isRemoved) return;
  if (type !== undefined && isRemoved === (schema === undefined)) return;
  throw new BatonError("invalid_input", {
    message: "payload_type needs exactly one of schema and remove: true.",
    path: type === undefined ? "payload_type" : "schema",
    hint: "Pass payload_type and schema to register a type, or payload_type and remove: true to remove it.",
  });
}
