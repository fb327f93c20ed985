/** Operations on accepted work, identified by its handle, and on effects that must happen once. */
import * as z from "zod";
import { ReserveSchema } from "../coordination/reservations/reserve.ts";
import { ResultSchema } from "../delivery/send/result.ts";
import { Reason } from "../delivery/settle/reason.ts";
import { WorkViewSchema } from "../delivery/work/views.ts";
import {
  AgentName,
  DETAIL_LEVELS,
  DraftSchema,
  EnvelopeId,
  Failure,
  Name,
  Slug,
} from "../envelope/schema.ts";
import type { Work } from "../hub/work.ts";
import { withIdempotencyKey } from "./idempotency-key.ts";
import { WAIT_FIELDS, withLongPoll } from "./long-poll.ts";
import { type OperationContext, operation } from "./operation.ts";
import { Done, Instant, Text } from "./schemas/common.ts";
import {
  DeliveryForm,
  NoteResultForm,
  OnceResultForm,
  ReserveResultForm,
  SentForm,
  SettleResultForm,
  WorkForm,
  WorkUpdatesForm,
} from "./schemas/deliveries.ts";
import { CheckedContextForm, ShownViewForm } from "./schemas/envelopes.ts";
import { MemoryInputForm, ReadMemoryForm } from "./schemas/memories.ts";
import { readWorkUpdates } from "./work-updates.ts";

const ByHandle = z.strictObject({ handle: Text.meta({ description: "The work's handle" }) });

const ByWork = ByHandle.extend({
  envelope: EnvelopeId.optional().meta({
    description: "The newest envelope the holder has seen (default: the newest)",
  }),
});

interface WorkReference {
  readonly handle: string;
  readonly envelope?: string | undefined;
}

const findWork = async (
  acting: OperationContext,
  { handle, envelope }: WorkReference,
): Promise<Work> => (await acting.agent()).held(handle, envelope);

const EffectResult = z.unknown().meta({ description: "The result of the effect, as JSON" });

export const workOperations = {
  resume: operation({
    summary: "Continues work the agent has accepted, and renews its lease.",
    route: "POST /v1/work/:handle/resume",
    access: "agent",
    on: "agent",
    args: ["handle"],
    input: ByHandle,
    output: WorkForm,
    run: async (acting, { handle }) => (await (await acting.agent()).resume(handle)).toJSON(),
  }),
  "work.renew": operation({
    summary: "Renews the lease, and returns the id of the newest envelope.",
    route: "POST /v1/work/:handle/renew",
    access: "agent",
    on: "work",
    input: ByWork,
    output: z.strictObject({ leaseUntil: Instant, envelope: Text }),
    async run(acting, { handle }) {
      const { delivery, envelope } = await (await acting.agent()).resume(handle);
      return { leaseUntil: delivery.leaseUntil, envelope: envelope.id };
    },
  }),
  "work.on": operation({
    summary: "Waits until the work is lost, extended or warned about.",
    route: "GET /v1/work/:handle/news",
    access: "agent",
    on: "work",
    waits: true,
    input: ByWork.extend({
      warned: Text.optional().meta({ description: "The warned value of the last response" }),
      ...WAIT_FIELDS,
    }),
    output: WorkUpdatesForm,
    async run(acting, { waitMs, ...known }) {
      const agent = await acting.agent();
      return withLongPoll(acting.signal, waitMs, (waiting) =>
        readWorkUpdates(agent, known, waiting),
      );
    },
  }),
  "deliveries.holder": operation({
    summary: "Returns the agent that holds the work of a handle.",
    route: "GET /v1/work/:handle/holder",
    access: "reader",
    on: "hub",
    args: ["handle"],
    input: ByHandle,
    field: "agent",
    output: z.strictObject({ agent: Text }),
  }),
  "deliveries.note": operation({
    summary:
      "Writes a note about the work: a step, a finding or a question. Kept if the lease was lost.",
    route: "POST /v1/work/:handle/notes",
    access: "agent",
    on: "agent",
    args: ["handle", "note"],
    input: ByWork.extend({ note: MemoryInputForm }),
    output: NoteResultForm,
    run: async (acting, { handle, note }) => (await acting.agent()).deliveries.note(handle, note),
  }),
  "work.view": operation({
    summary: "Returns the view of the handoff within the holder's token budget, ready to paste.",
    route: "POST /v1/work/:handle/view",
    access: "agent",
    on: "work",
    input: ByWork.extend(WorkViewSchema.shape),
    output: ShownViewForm,
    rest: true,
  }),
  "work.freshness": operation({
    summary: "Returns whether each reference and file of the handoff is fresh, stale or gone.",
    route: "GET /v1/work/:handle/freshness",
    access: "agent",
    on: "work",
    input: ByWork,
    output: CheckedContextForm,
  }),
  "work.read": operation({
    summary: "Returns the newest version of a record, by its id or its short id in a view.",
    route: "GET /v1/work/:handle/memories/:id",
    access: "agent",
    on: "work",
    args: ["id", "level"],
    input: ByWork.extend({
      id: Text.meta({ description: "A memory's id, or its short id in a view" }),
      level: z.enum(DETAIL_LEVELS).optional(),
    }),
    output: ReadMemoryForm,
  }),
  "work.reservations.set": operation({
    summary:
      "Reserves files or resources for the work and returns conflicts with other agents. Advisory.",
    route: "PUT /v1/work/:handle/reservations",
    access: "agent",
    on: "work",
    args: ["globs"],
    input: ByWork.extend({
      globs: z
        .union([z.string(), z.array(z.string())])
        .optional()
        .meta({ description: "Files or resources (default: what the handoff says it touches)" }),
    }).extend(ReserveSchema.shape),
    output: ReserveResultForm,
    rest: true,
  }),
  "work.reservations.clear": operation({
    summary: "Releases what the work has reserved.",
    route: "DELETE /v1/work/:handle/reservations",
    access: "agent",
    on: "work",
    input: ByWork,
    output: Done,
  }),
  "work.complete": operation({
    summary: "Completes the work with a result, checked against what the handoff expects.",
    route: "POST /v1/work/:handle/complete",
    access: "agent",
    on: "work",
    args: ["result"],
    input: ByWork.extend({ result: ResultSchema.optional() }),
    output: SettleResultForm,
  }),
  "work.fail": operation({
    summary: "Ends this attempt as failed; the policy decides about the next.",
    route: "POST /v1/work/:handle/fail",
    access: "agent",
    on: "work",
    args: ["failure"],
    input: ByWork.extend({ failure: Failure }),
    output: SettleResultForm,
  }),
  "work.decline": operation({
    summary: "Declines the work permanently.",
    route: "POST /v1/work/:handle/decline",
    access: "agent",
    on: "work",
    args: ["reason"],
    input: ByWork.extend({ reason: Reason }),
    output: SettleResultForm,
  }),
  "work.clarify": operation({
    summary: "Asks the sender a question. The work is released, and offered again with the answer.",
    route: "POST /v1/work/:handle/clarify",
    access: "agent",
    on: "work",
    args: ["question"],
    input: ByWork.extend({ question: Reason }),
    output: SettleResultForm,
  }),
  "work.release": operation({
    summary: "Returns the work to the inbox, as a counted attempt.",
    route: "POST /v1/work/:handle/release",
    access: "agent",
    on: "work",
    input: ByWork,
    output: DeliveryForm,
  }),
  "work.handoff": operation({
    summary: "Completes the work and sends the next envelope of the task, in one operation.",
    route: "POST /v1/work/:handle/handoff",
    access: "agent",
    on: "work",
    args: ["draft"],
    input: ByWork.extend({
      draft: DraftSchema.partial({ intent: true }).meta({
        id: "NextDraft",
        description: "A draft; task and intent default to those of the work",
      }),
      receivers: z.array(AgentName).optional(),
      result: Slug.optional().meta({ description: "The outcome in one word; routes match on it" }),
      completes: ResultSchema.optional().meta({ description: "The result of the work itself" }),
    }),
    output: SentForm,
    async run(acting, { handle, envelope, draft, ...sending }) {
      const work = await findWork(acting, { handle, envelope });
      const sent = await work.handoff(withIdempotencyKey(acting, draft) as never, sending);
      return sent.toJSON();
    },
  }),
  "effects.begin": operation({
    summary:
      "Records the start of an effect that must run only once; with a handle, once for that work.",
    route: "POST /v1/effects/begin",
    access: "agent",
    on: "agent",
    args: ["key", "handle"],
    input: ByWork.partial().extend({ key: Name }),
    output: OnceResultForm,
  }),
  "effects.record": operation({
    summary: "Records the result of an effect that this agent began.",
    route: "POST /v1/effects/record",
    access: "agent",
    on: "agent",
    args: ["key", "result", "handle"],
    input: ByWork.partial().extend({ key: Name, result: EffectResult.optional() }),
    output: Done,
  }),
  "effects.resolve": operation({
    summary: "Sets the result of an effect that was begun and never recorded.",
    route: "POST /v1/effects/resolve",
    access: "agent",
    on: "agent",
    args: ["key", "result"],
    input: z.strictObject({ key: Name, result: EffectResult.optional() }),
    output: Done,
  }),
};
