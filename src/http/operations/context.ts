/** The shared context: read, written, proposed and adopted. */
import * as z from "zod";
import { AdoptSchema } from "../../coordination/shared-context/adopt.ts";
import { ItemNameSchema, ProposeSchema } from "../../coordination/shared-context/propose.ts";
import { EnvelopeId } from "../../envelope/schema.ts";
import { RetireOptionsSchema, WriteSchema } from "../../hub/shared-context.ts";
import { ChangesQuerySchema } from "../../shared-context/changes.ts";
import { ContextItemSchema } from "../../shared-context/items.ts";
import { ContextQuerySchema } from "../../shared-context/read.ts";
import { listed } from "../given.ts";
import type { Operations } from "../operation.ts";
import {
  AdoptedForm,
  ContextChangeForm,
  ContextChangesForm,
  ContextInputForm,
  ContextItemForm,
  ContextProposalForm,
  ContradictionForm,
  SharedContextForm,
  WrittenItemForm,
} from "../schemas/context.ts";
import { SentForm } from "../schemas/deliveries.ts";
import { Count, Text } from "../schemas/plain.ts";

const [ProjectItem] = ContextItemSchema.options;

export const contextOperations = {
  readContext: {
    summary: "Reads the shared context for a role, within a number of tokens.",
    access: "reader",
    input: ContextQuerySchema,
    output: SharedContextForm,
    rest: true,
    run: async (acting, query) => (await acting.reader()).context.read(query),
  },
  contextItem: {
    summary: "Shows one item as it holds; null where there is none.",
    access: "reader",
    input: ItemNameSchema,
    output: z.strictObject({ item: ContextItemForm.nullable() }),
    run: async (acting, { section, key }) => ({
      item: (await (await acting.reader()).context.item(section, key)) ?? null,
    }),
  },
  contextChanges: {
    summary: "Tells what changed since a version, oldest first; a page at a time.",
    access: "reader",
    input: ChangesQuerySchema,
    output: ContextChangesForm,
    rest: true,
    // From the beginning unless told: how far a session has read is the caller's to know.
    run: async (acting, query) =>
      (await acting.reader()).context.changes({ ...query, since: query.since ?? 0 }),
  },
  contextHistory: {
    summary: "Tells every version of an item, newest first; also of one that was retired.",
    access: "reader",
    input: ItemNameSchema,
    output: z.array(ContextChangeForm),
    run: async (acting, { section, key }) => (await acting.reader()).context.history(section, key),
  },
  setContext: {
    summary: "Writes an item, based on the version of it that was seen. For roles that may.",
    access: "agent",
    input: WriteSchema.extend({ item: ContextInputForm }),
    output: WrittenItemForm,
    rest: true,
    run: async (acting, { item, ...writing }) => (await acting.agent()).context.set(item, writing),
  },
  retireContext: {
    summary: "Takes an item out: it holds no more. For roles that may.",
    access: "agent",
    input: ItemNameSchema.extend(RetireOptionsSchema.shape),
    output: z.strictObject({ version: Count, memory: Text }),
    rest: true,
    run: async (acting, { section, key, ...retiring }) =>
      (await acting.agent()).context.retire(section, key, retiring),
  },
  updateProject: {
    summary: "Brings the project's items up to date; what is as it was is not written.",
    access: "agent",
    input: z.strictObject({ items: z.array(ProjectItem.partial({ section: true })) }),
    output: z.array(ContextItemForm),
    run: async (acting, { items }) =>
      (await acting.agent()).context.project(listed(items, "items")),
  },
  proposeContext: {
    summary: "Hands a change to somebody who may make it, and tells what it speaks against.",
    access: "agent",
    input: ProposeSchema.extend({ change: ContextProposalForm }),
    output: z.strictObject({ sent: SentForm, contradictions: z.array(ContradictionForm) }),
    rest: true,
    async run(acting, { change, ...proposal }) {
      const agent = await acting.agent();
      const { sent, contradictions } = await agent.context.propose(change, proposal);
      return { sent: sent.toJSON(), contradictions };
    },
  },
  adoptContext: {
    summary: "Makes the change that accepted work proposes, and completes that work.",
    access: "agent",
    input: AdoptSchema.extend({
      handle: Text.meta({ description: "The work's handle" }),
      envelope: EnvelopeId.optional(),
    }),
    output: AdoptedForm,
    rest: true,
    async run(acting, { handle, envelope, ...options }) {
      const agent = await acting.agent();
      return agent.context.adopt(await agent.held(handle, envelope), options);
    },
  },
} satisfies Operations<
  | "readContext"
  | "contextItem"
  | "contextChanges"
  | "contextHistory"
  | "setContext"
  | "retireContext"
  | "updateProject"
  | "proposeContext"
  | "adoptContext"
>;
