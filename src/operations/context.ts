/** Operations on the shared context: read, write, retire, propose and adopt items. */
import * as z from "zod";
import { AdoptSchema } from "../coordination/shared-context/adopt.ts";
import { ItemNameSchema, ProposeSchema } from "../coordination/shared-context/propose.ts";
import { EnvelopeId } from "../envelope/schema.ts";
import { RetireOptionsSchema, WriteSchema } from "../hub/groups/shared-context.ts";
import { ChangesQuerySchema, HistorySchema } from "../shared-context/changes.ts";
import type { ProjectItem } from "../shared-context/git.ts";
import { ContextItemSchema } from "../shared-context/items.ts";
import { ContextQuerySchema } from "../shared-context/read.ts";
import { operation } from "./operation.ts";
import { requireList } from "./required-fields.ts";
import { agentWithAccess } from "./rights/ownership.ts";
import { Count, pageForm, Text } from "./schemas/common.ts";
import {
  AdoptResultForm,
  ContextChangeForm,
  ContextChangesForm,
  ContextInputForm,
  ContextItemForm,
  ContextProposalForm,
  ContradictionForm,
  SharedContextForm,
  WrittenItemForm,
} from "./schemas/context.ts";
import { SentForm } from "./schemas/deliveries.ts";

const [ProjectItemSchema] = ContextItemSchema.options;

export const contextOperations = {
  "context.text": operation({
    summary: "Returns the shared context for a role, within a token budget.",
    route: "GET /v1/context",
    access: "reader",
    on: "reader",
    input: ContextQuerySchema,
    output: SharedContextForm,
    rest: true,
  }),
  "context.item": operation({
    summary: "Returns one item, or null if it does not exist.",
    route: "GET /v1/context/:section/:key",
    access: "reader",
    on: "reader",
    args: ["section", "key"],
    input: ItemNameSchema,
    field: "item",
    output: z.strictObject({ item: ContextItemForm.nullable() }),
  }),
  "context.changes": operation({
    summary: "Returns what changed since a version, oldest first, one page at a time.",
    route: "GET /v1/context/changes",
    access: "reader",
    on: "reader",
    input: ChangesQuerySchema,
    output: ContextChangesForm,
    rest: true,
    // Default: from the beginning. Over HTTP the caller keeps track of how far it has read.
    run: async (acting, query) =>
      (await acting.reader()).context.changes({ ...query, after: query.after ?? 0 }),
  }),
  "context.history": operation({
    summary:
      "Returns the versions of an item, newest first, also of a retired one, one page at a time.",
    route: "GET /v1/context/:section/:key/history",
    access: "reader",
    on: "reader",
    args: ["section", "key"],
    input: ItemNameSchema.extend(HistorySchema.shape),
    output: pageForm(ContextChangeForm, Count),
    rest: true,
  }),
  "context.set": operation({
    summary:
      "Writes an item, based on the version that was read. For the roles in settings.keepers.",
    route: "PUT /v1/context",
    access: "agent",
    on: "agent",
    args: ["item"],
    input: WriteSchema.extend({ item: ContextInputForm }),
    output: WrittenItemForm,
    rest: true,
  }),
  "context.retire": operation({
    summary: "Retires an item, with a reason. For the roles in settings.keepers.",
    route: "POST /v1/context/:section/:key/retire",
    access: "agent",
    on: "agent",
    args: ["section", "key"],
    input: ItemNameSchema.extend(RetireOptionsSchema.shape),
    output: z.strictObject({ version: Count, memory: Text }),
    rest: true,
  }),
  "context.project": operation({
    summary: "Updates the project's items; unchanged ones are not written.",
    route: "PUT /v1/context/project",
    access: "agent",
    on: "agent",
    args: ["items"],
    input: z.strictObject({ items: z.array(ProjectItemSchema.partial({ section: true })) }),
    output: z.array(ContextItemForm),
    run: async (acting, { items }) =>
      (await acting.agent()).context.project(requireList(items, "items") as readonly ProjectItem[]),
  }),
  "context.propose": operation({
    summary:
      "Sends a change or a quarantine to an agent that may make it, and returns conflicting decisions.",
    route: "POST /v1/context/propose",
    access: "agent",
    on: "agent",
    args: ["change"],
    input: ProposeSchema.extend({ change: ContextProposalForm }),
    output: z.strictObject({ sent: SentForm, contradictions: z.array(ContradictionForm) }),
    rest: true,
    async run(acting, { change, ...proposal }) {
      const agent = await acting.agent();
      const { sent, contradictions } = await agent.context.propose(change, proposal);
      return { sent: sent.toJSON(), contradictions };
    },
  }),
  "context.adopt": operation({
    summary: "Makes the change or quarantine that accepted work proposes, and completes that work.",
    route: "POST /v1/context/adopt",
    access: "agent",
    on: "agent",
    input: AdoptSchema.extend({
      handle: Text.meta({ description: "The work's handle" }),
      envelope: EnvelopeId.optional(),
    }),
    output: AdoptResultForm,
    rest: true,
    async run(acting, { handle, envelope, ...options }) {
      const agent = await agentWithAccess(acting);
      return agent.context.adopt(await agent.held(handle, envelope), options);
    },
  }),
};
