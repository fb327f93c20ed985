/** Working: by a handle, from wherever its holder is. */
import * as z from "zod";
import { ReserveSchema } from "../../coordination/reservations/reserve.ts";
import { ResultSchema } from "../../delivery/send/result.ts";
import { Reason } from "../../delivery/settle/reason.ts";
import { WorkViewSchema } from "../../delivery/work/views.ts";
import {
  AgentName,
  DraftSchema,
  EnvelopeId,
  Failure,
  LEVELS,
  Name,
  Slug,
} from "../../envelope/schema.ts";
import type { Work } from "../../hub/work.ts";
import { keyed } from "../keyed.ts";
import { newsOf } from "../news.ts";
import type { Acting, Operations } from "../operation.ts";
import {
  DeliveryForm,
  ExtendedForm,
  NotedForm,
  OnceForm,
  ReservedForm,
  SentForm,
  SettlingForm,
  WorkForm,
  WorkNewsForm,
} from "../schemas/deliveries.ts";
import { CheckedContextForm, ShownViewForm } from "../schemas/envelopes.ts";
import { MemoryInputForm, ReadMemoryForm } from "../schemas/memories.ts";
import { DONE, Done, Instant, Text } from "../schemas/plain.ts";
import { during, Waits } from "../wait.ts";

const ByHandle = z.strictObject({ handle: Text.meta({ description: "The work's handle" }) });

const HeldForm = ByHandle.extend({
  envelope: EnvelopeId.optional().meta({
    description: "The newest envelope the holder was told of; the newest there is unless told",
  }),
});

interface Held {
  readonly handle: string;
  readonly envelope?: string | undefined;
}

const held = async (acting: Acting, { handle, envelope }: Held): Promise<Work> =>
  (await acting.agent()).held(handle, envelope);

const Outcome = z.unknown().meta({ description: "What came of it, as JSON" });

export const workingOperations = {
  resumeWork: {
    summary: "Goes on with work the agent has accepted, and renews its lease.",
    access: "agent",
    input: ByHandle,
    output: WorkForm,
    run: async (acting, { handle }) => (await (await acting.agent()).resume(handle)).toJSON(),
  },
  renewWork: {
    summary: "Asks for more time, and tells the newest envelope.",
    access: "agent",
    input: HeldForm,
    output: z.strictObject({ leaseUntil: Instant, envelope: Text }),
    async run(acting, { handle }) {
      const { leaseUntil, envelope } = await (await acting.agent()).resume(handle);
      return { leaseUntil, envelope: envelope.id };
    },
  },
  awaitWork: {
    summary: "Answers when work was lost, added to or warned of.",
    access: "agent",
    waits: true,
    input: HeldForm.extend({
      warned: Text.optional().meta({ description: "The digest of warnings that was told before" }),
      ...Waits,
    }),
    output: WorkNewsForm,
    async run(acting, { waitMs, ...known }) {
      const agent = await acting.agent();
      return during(acting.signal, waitMs, (waiting) => newsOf(agent, known, waiting));
    },
  },
  holder: {
    summary: "Tells who has the work of a handle.",
    access: "reader",
    input: ByHandle,
    output: z.strictObject({ agent: Text }),
    run: async ({ hub }, { handle }) => ({ agent: await hub.holder(handle) }),
  },
  note: {
    summary: "Writes down a step, finding or question of the work; kept also where that was lost.",
    access: "agent",
    input: HeldForm.extend({ note: MemoryInputForm }),
    output: NotedForm,
    run: async (acting, { handle, note }) => (await acting.agent()).note(handle, note),
  },
  view: {
    summary: "Shows what the holder gets of the handoff within its budget, ready to paste.",
    access: "agent",
    input: HeldForm.extend(WorkViewSchema.shape),
    output: ShownViewForm,
    rest: true,
    run: async (acting, { handle, envelope, ...options }) =>
      (await held(acting, { handle, envelope })).view(options),
  },
  freshness: {
    summary: "Tells of every reference and file of the handoff whether it is as it was.",
    access: "agent",
    input: HeldForm,
    output: CheckedContextForm,
    run: async (acting, input) => (await held(acting, input)).freshness(),
  },
  readForWork: {
    summary: "Reads a record the handoff refers to, the freshest of it; also by its short id.",
    access: "agent",
    input: HeldForm.extend({
      id: Text.meta({ description: "A memory's id, or its short id in a view" }),
      level: z.enum(LEVELS).optional(),
    }),
    output: ReadMemoryForm,
    run: async (acting, { id, level, ...input }) => (await held(acting, input)).read(id, level),
  },
  reserve: {
    summary:
      "Says what the work is on, and tells who else works there. Refuses nothing to anybody.",
    access: "agent",
    input: HeldForm.extend({
      globs: z
        .union([z.string(), z.array(z.string())])
        .optional()
        .meta({ description: "Files or resources; what the handoff says it touches unless told" }),
    }).extend(ReserveSchema.shape),
    output: ReservedForm,
    rest: true,
    run: async (acting, { handle, envelope, globs, ...options }) =>
      (await held(acting, { handle, envelope })).reserve(globs, options),
  },
  unreserve: {
    summary: "Takes back what the work has reserved.",
    access: "agent",
    input: HeldForm,
    output: Done,
    async run(acting, input) {
      await (await held(acting, input)).unreserve();
      return DONE;
    },
  },
  complete: {
    summary: "Hands in the result, held against what the handoff expects.",
    access: "agent",
    input: HeldForm.extend({ result: ResultSchema.optional() }),
    output: SettlingForm,
    run: async (acting, { result, ...input }) => (await held(acting, input)).complete(result),
  },
  fail: {
    summary: "Reports that the work failed, and how.",
    access: "agent",
    input: HeldForm.extend({ failure: Failure }),
    output: SettlingForm,
    run: async (acting, { failure, ...input }) => (await held(acting, input)).fail(failure),
  },
  decline: {
    summary: "Refuses the work for good.",
    access: "agent",
    input: HeldForm.extend({ reason: Reason }),
    output: SettlingForm,
    run: async (acting, { reason, ...input }) => (await held(acting, input)).decline(reason),
  },
  clarify: {
    summary: "Asks the sender. The work is let go, and offered again together with the answer.",
    access: "agent",
    input: HeldForm.extend({ question: Reason }),
    output: SettlingForm,
    run: async (acting, { question, ...input }) => (await held(acting, input)).clarify(question),
  },
  release: {
    summary: "Gives the work back to the inbox, with everything the sender has added.",
    access: "agent",
    input: HeldForm,
    output: DeliveryForm,
    run: async (acting, input) => (await held(acting, input)).release(),
  },
  handOn: {
    summary: "Hands the task on: completes the work and sends the next envelope, in one operation.",
    access: "agent",
    input: HeldForm.extend({
      draft: DraftSchema.partial({ intent: true }).meta({
        id: "NextDraft",
        description: "As any draft; task and intent stay the work's unless told",
      }),
      receivers: z.array(AgentName).optional(),
      result: Slug.optional().meta({ description: "How the work ended, in one word, for routes" }),
      completes: ResultSchema.optional().meta({ description: "The result of the work itself" }),
    }),
    output: z.discriminatedUnion("kind", [SentForm, ExtendedForm]),
    async run(acting, { handle, envelope, draft, ...sending }) {
      const work = await held(acting, { handle, envelope });
      const sent = await work.handoff(keyed(acting, draft), sending);
      return sent.kind === "sent" ? sent.toJSON() : sent;
    },
  },
  beginOnce: {
    summary: "Says that an effect begins that must not happen twice; with a handle, for that work.",
    access: "agent",
    input: HeldForm.partial().extend({ key: Name }),
    output: OnceForm,
    run: async (acting, { key, handle }) => (await acting.agent()).beginOnce(key, handle),
  },
  recordOnce: {
    summary: "Says what came of an effect that this agent began.",
    access: "agent",
    input: HeldForm.partial().extend({ key: Name, result: Outcome.optional() }),
    output: Done,
    async run(acting, { key, result, handle }) {
      await (await acting.agent()).recordOnce(key, result, handle);
      return DONE;
    },
  },
  resolveOnce: {
    summary: "Says what came of an effect that was begun by somebody and never recorded.",
    access: "agent",
    input: z.strictObject({ key: Name, result: Outcome.optional() }),
    output: Done,
    async run(acting, { key, result }) {
      await (await acting.agent()).resolve(key, result);
      return DONE;
    },
  },
} satisfies Operations<
  | "resumeWork"
  | "renewWork"
  | "awaitWork"
  | "holder"
  | "note"
  | "view"
  | "freshness"
  | "readForWork"
  | "reserve"
  | "unreserve"
  | "complete"
  | "fail"
  | "decline"
  | "clarify"
  | "release"
  | "handOn"
  | "beginOnce"
  | "recordOnce"
  | "resolveOnce"
>;
