/** Zod schemas for deliveries, offers, accepted work, attempts, outcomes and reservations. */

import * as z from "zod";
import { ERROR_CODES, type ErrorCode } from "../../base/errors.ts";
import type { Repeat } from "../../context/lint/rule.ts";
import type { ReservationConflict } from "../../coordination/reservations/conflicts.ts";
import { MODES, type Reservation } from "../../coordination/reservations/reservation.ts";
import type { ReserveResult } from "../../coordination/reservations/reserve.ts";
import type { DeadLetter } from "../../delivery/settle/dead-letters.ts";
import type { OpenQuestion } from "../../delivery/settle/questions.ts";
import type { WaitTimeout } from "../../delivery/watch/await-outcome.ts";
import type { DeliveryDetails } from "../../delivery/watch/delivery-details.ts";
import type { DeliveryWithEnvelope } from "../../delivery/watch/inbox-listing.ts";
import type { NoteResult } from "../../delivery/work/note.ts";
import type { OnceResult } from "../../delivery/work/once.ts";
import type { Warning } from "../../delivery/work/warnings.ts";
import { FAILURE_CLASSES } from "../../envelope/schema.ts";
import type { DeprecatedField } from "../../envelope/versions.ts";
import type { Attempt } from "../../history/attempt.ts";
import type { Background } from "../../history/background.ts";
import type { Delivery, HeldDelivery } from "../../history/delivery.ts";
import type { AttemptNote, EarlierAttempt } from "../../history/earlier-attempts.ts";
import type { AttemptFailure } from "../../history/failure.ts";
import { DECISION_KINDS, type StoredFailureDecision } from "../../history/failure-decisions.ts";
import type { DeliveryOutcome, HandoffResult } from "../../history/outcome.ts";
import {
  ATTEMPT_OUTCOMES,
  DELIVERY_STATES,
  type SerializedOffer as OfferFields,
  type SerializedSent as SentFields,
  type SerializedWork as WorkFields,
} from "../../hub/serialized.ts";
import type { SettleResult } from "../../hub/work.ts";
import { MergeResultForm } from "./branches.ts";
import { Count, Instant, Text, Texts } from "./common.ts";
import { EnvelopeForm, FindingForm, GapForm, SecretsForm } from "./envelopes.ts";
import type { Fields } from "./fields.ts";
import { MemoryForm } from "./memories.ts";
import { ProgressForm } from "./progress.ts";

/** The fields of one variant of a union that is discriminated by `kind`. */
type Variant<Answers extends { readonly kind: string }, Kind extends Answers["kind"]> = Fields<
  Extract<Answers, { readonly kind: Kind }>
>;

const delivery = {
  id: Text,
  envelope: Text.meta({ description: "Id of its newest envelope" }),
  task: Text,
  sender: Text,
  receiver: Text.meta({ description: "An agent's id, or role:…" }),
  parent: Text.exactOptional().meta({
    description: "The envelope this work continues; absent for the first handoff of a line",
  }),
  state: z.enum(DELIVERY_STATES),
  place: z.int().meta({ description: "Order within the receiver's inbox" }),
  inTurn: z.boolean().meta({ description: "False: waits for earlier work of the same task" }),
  attempt: Count.meta({ description: "Number of claims so far" }),
  maxAttempts: Count,
  fence: Count.meta({ description: "Grows with every claim" }),
  holder: Text.exactOptional().meta({ description: "The agent that holds it, or held it last" }),
  instance: Text.exactOptional().meta({ description: "The session of the holder" }),
  lease: z.enum(["process", "session"]).exactOptional().meta({
    description:
      "What the lease is bound to: it ends when the process dies, or, for a session, only by timeout",
  }),
  leaseUntil: Instant.exactOptional(),
  holdUntil: Instant.exactOptional().meta({
    description: "The latest time to which the lease can be renewed",
  }),
  sentAt: Instant,
  readyAt: Instant.exactOptional().meta({
    description: "A scheduled delivery cannot be claimed before this time",
  }),
  seenAt: Instant.exactOptional().meta({
    description: "When its content was first shown to a receiver",
  }),
  acceptedAt: Instant.exactOptional(),
  settledAt: Instant.exactOptional(),
  deadline: Instant.exactOptional().meta({ description: "It must be settled by this time" }),
  lapseAt: Instant.exactOptional().meta({
    description: "When its policy next takes effect: a reminder, an accept timeout or the deadline",
  }),
  acceptedBy: Text.exactOptional().meta({ description: "The memory that records the acceptance" }),
  settledBy: Text.exactOptional().meta({ description: "The memory that records the settlement" }),
  followers: Texts.meta({ description: "Deliveries that wait for this one (joins)" }),
} satisfies Fields<Delivery>;

export const DeliveryForm = z
  .strictObject(delivery)
  .meta({ id: "Delivery", description: "The state of one envelope at one receiver." });

const HeldDeliveryForm = z
  .strictObject({
    ...delivery,
    holder: Text,
    instance: Text,
    leaseUntil: Instant,
  } satisfies Fields<HeldDelivery>)
  .meta({ id: "HeldDelivery", description: "A delivery that an offer or accepted work holds." });

/** A delivery after a call that stored text, with the secrets that were removed from the text. */
export const AnsweredDeliveryForm = z
  .strictObject({ ...delivery, secrets: SecretsForm.exactOptional() })
  .meta({
    id: "AnsweredDelivery",
    description: "A delivery after it was answered, approved, replied to or rejected.",
  });

export const AttemptForm = z
  .strictObject({
    delivery: Text,
    attempt: Count,
    holder: Text.exactOptional().meta({ description: "Absent if it was never claimed" }),
    instance: Text.exactOptional(),
    endedAt: Instant,
    outcome: z.enum(ATTEMPT_OUTCOMES),
    reason: z.record(z.string(), z.unknown()).meta({
      description: "What was recorded about its end: message, type, reason, question …",
    }),
  } satisfies Fields<Attempt>)
  .meta({ id: "Attempt", description: "An attempt that ended without completing its delivery." });

const RepeatForm = z
  .strictObject({
    delivery: Text,
    envelope: Text,
    task: Text,
    state: z.enum(DELIVERY_STATES).meta({ description: "An open state, or completed" }),
    by: Text.meta({ description: "The agent that sent it" }),
    holder: Text.exactOptional().meta({
      description: "The agent that works on it or completed it; absent while it waits",
    }),
    at: Instant.meta({ description: "When it was completed; while it is open, when it was sent" }),
    why: z.enum(["task", "work"]).meta({
      description: "task: same task. work: same intent under another task",
    }),
  } satisfies Fields<Repeat>)
  .meta({ id: "Repeat", description: "An earlier handoff that a new one repeats." });

export const SentForm = z
  .strictObject({
    kind: z.literal("sent"),
    envelope: EnvelopeForm,
    digest: Text,
    memory: Text.meta({ description: "The handoff record on the chain" }),
    joined: z.enum(["new", "superseded", "extended", "repeated"]).meta({
      description:
        "New work, how it changed open work, or a repeat of an earlier call with the same key",
    }),
    cycle: z.array(z.strictObject({ from: Text, payload: Text.exactOptional(), to: Text })).meta({
      description: "The handoffs since the line last reached this receiver with the same payload",
    }),
    stopped: z.boolean().meta({
      description: "True: the line exceeds the hop limit, and the handoff is a dead letter",
    }),
    deprecated: z.array(
      z.strictObject({ path: Text, since: Text, use: Text } satisfies Fields<DeprecatedField>),
    ),
    deliveries: z.array(DeliveryForm).meta({ description: "One for each receiver" }),
    secrets: SecretsForm,
    findings: z.array(FindingForm).meta({ description: "Lint findings" }),
    repeats: z.array(RepeatForm).meta({ description: "Earlier handoffs it repeats, newest first" }),
  } satisfies Fields<SentFields>)
  .meta({
    id: "Sent",
    description: "A handoff that was stored, with one delivery for each receiver.",
  });

const EarlierAttemptForm = z
  .strictObject({
    attempt: Count,
    by: Text.exactOptional(),
    at: Instant,
    outcome: z.enum(ATTEMPT_OUTCOMES),
    type: Text.exactOptional().meta({ description: "The type of a failure, such as timeout" }),
    message: Text.exactOptional().meta({ description: "Why it ended" }),
    attempted: Text.exactOptional().meta({ description: "What was attempted" }),
    hints: Texts,
    notes: z
      .array(z.strictObject({ id: Text, at: Instant, text: Text } satisfies Fields<AttemptNote>))
      .meta({ description: "The notes of its holder, oldest first; at most 20" }),
    question: Text.exactOptional(),
    answer: z.strictObject({ by: Text, text: Text }).exactOptional(),
    decision: z
      .strictObject({
        by: Text,
        decision: z.enum(["retry", "reroute", "abort"]),
        reason: Text,
        to: Text.exactOptional(),
      })
      .exactOptional()
      .meta({ description: "What was decided about the failure" }),
  } satisfies Fields<EarlierAttempt>)
  .meta({ id: "EarlierAttempt", description: "An attempt that ended without a result." });

const reservation = {
  agent: Text,
  delivery: Text,
  globs: Texts,
  mode: z.enum(MODES),
  note: Text.exactOptional(),
  since: Instant,
  task: Text,
  until: Instant.meta({
    description: "End of the reservation; renewed together with the lease of the work",
  }),
} satisfies Fields<Omit<Reservation, "instance">>;

export const ReservationForm = z
  .strictObject({ ...reservation, instance: Text } satisfies Fields<Reservation>)
  .meta({
    id: "Reservation",
    description: "The files or resources that a holder works on, until its work ends.",
  });

export const ReservationConflictForm = z
  .strictObject({
    ...reservation,
    globs: Texts.meta({ description: "The other agent's globs that can match the same files" }),
    with: Texts.meta({ description: "The caller's globs that they can overlap with" }),
  } satisfies Fields<ReservationConflict>)
  .meta({
    id: "ReservationConflict",
    description: "Another agent's overlapping reservation. Reported, not enforced.",
  });

export const ReserveResultForm = z.strictObject({
  reserved: ReservationForm,
  conflicts: z.array(ReservationConflictForm),
} satisfies Fields<ReserveResult>);

const background = {
  attempts: z
    .array(EarlierAttemptForm)
    .meta({ description: "Earlier attempts at this delivery, oldest first" }),
  progress: z.array(ProgressForm).meta({
    description: "What earlier handoffs of the task reported as done, not to be redone, or blocked",
  }),
} satisfies Fields<Background>;

const PrimerForm = Text.meta({
  description: "What to know before the first step, in less than 2 KB",
});

export const OfferForm = z
  .strictObject({
    handle: Text.meta({
      description: "Delivery id and fence; identifies the offer in later calls",
    }),
    delivery: HeldDeliveryForm,
    envelope: EnvelopeForm,
    primer: PrimerForm,
    ...background,
  } satisfies Fields<OfferFields>)
  .meta({ id: "Offer", description: "A claimed handoff: accept, decline or release it." });

export const WorkForm = z
  .strictObject({
    handle: Text.meta({ description: "Delivery id and fence; identifies the work in later calls" }),
    delivery: HeldDeliveryForm,
    envelope: EnvelopeForm,
    primer: PrimerForm,
    conflicts: z.array(ReservationConflictForm),
    ...background,
  } satisfies Fields<WorkFields>)
  .meta({ id: "Work", description: "An accepted delivery." });

export const DeliveryWithEnvelopeForm = z.strictObject({
  delivery: DeliveryForm,
  envelope: EnvelopeForm,
} satisfies Fields<DeliveryWithEnvelope>);

export const OpenQuestionForm = z.strictObject({
  delivery: DeliveryForm,
  envelope: EnvelopeForm,
  question: Text,
} satisfies Fields<OpenQuestion>);

export const DeadLetterForm = z
  .strictObject({
    delivery: DeliveryForm,
    envelope: EnvelopeForm,
    attempts: z.array(AttemptForm),
  } satisfies Fields<DeadLetter>)
  .meta({ id: "DeadLetter", description: "A delivery that was given up, with every attempt." });

export const WarningForm = z
  .strictObject({
    memory: Text.meta({ description: "The quarantined memory" }),
    by: Text,
    at: Instant,
    reason: Text,
    record: Text.meta({ description: "The memory that records the quarantine" }),
  } satisfies Fields<Warning>)
  .meta({ id: "Warning", description: "A memory that this work builds on was quarantined." });

const ErrorCodes = z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]);

export const ErrorForm = z
  .strictObject({
    code: ErrorCodes,
    message: Text,
    path: Text,
    hint: Text,
    retryable: z.boolean(),
    violations: z.array(
      z.strictObject({ path: Text, rule: Text, message: Text, hint: Text.exactOptional() }),
    ),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "Error", description: "An error, in the same form on every interface." });

export const TriedFailureForm = z
  .strictObject({
    attempted: Text.exactOptional(),
    by: Text.exactOptional().meta({
      description: "The agent that failed; absent if no agent claimed it",
    }),
    class: z.enum(FAILURE_CLASSES),
    hints: Texts,
    message: Text,
    type: Text,
  } satisfies Fields<AttemptFailure>)
  .meta({ id: "TriedFailure", description: "Why an attempt failed." });

export const storedDecisionFields = {
  at: Instant,
  by: Text,
  decision: z.enum(DECISION_KINDS).exclude(["ask"]),
  failure: z.strictObject({ class: z.enum(FAILURE_CLASSES), type: Text }),
  reason: Text,
  record: Text.meta({ description: "The memory that records the decision" }),
  report: Text.exactOptional().meta({
    description: "The delivery of the report; absent if none was sent",
  }),
  task: Text,
  to: Text.exactOptional().meta({ description: "The receiver from then on" }),
} satisfies Fields<StoredFailureDecision>;

export const StoredDecisionForm = z
  .strictObject(storedDecisionFields)
  .meta({ id: "KeptDecision", description: "A stored decision about a failure." });

const HandoffResultForm = z
  .strictObject({
    summary: Text,
    outputs: z.record(z.string(), z.unknown()),
    confidence: z.number().exactOptional(),
    outcome: Text.exactOptional(),
    gaps: z.array(GapForm).exactOptional(),
    memory: Text.meta({ description: "The memory that contains it" }),
    handedOn: Text.exactOptional().meta({
      description: "The delivery of the next handoff, if the work was handed on",
    }),
  } satisfies Fields<HandoffResult>)
  .meta({ id: "HandoffResult", description: "The result of a completed delivery." });

const failureFields = { failure: TriedFailureForm, decision: StoredDecisionForm.exactOptional() };

const declined = z.strictObject({
  kind: z.literal("declined"),
  delivery: DeliveryForm,
  reason: Text,
  ...failureFields,
} satisfies Variant<DeliveryOutcome, "declined">);

const dead = z.strictObject({
  kind: z.literal("dead"),
  delivery: DeliveryForm,
  attempts: z.array(AttemptForm),
  ...failureFields,
} satisfies Variant<DeliveryOutcome, "dead">);

const cancelled = z.strictObject({
  kind: z.literal("cancelled"),
  delivery: DeliveryForm,
  reason: Text,
} satisfies Variant<DeliveryOutcome, "cancelled">);

const expired = z.strictObject({
  kind: z.literal("expired"),
  delivery: DeliveryForm,
  ...failureFields,
} satisfies Variant<DeliveryOutcome, "expired">);

const superseded = z.strictObject({
  kind: z.literal("superseded"),
  delivery: DeliveryForm,
} satisfies Variant<DeliveryOutcome, "superseded">);

const timeout = z.strictObject({
  kind: z.literal("timeout"),
  delivery: DeliveryForm,
} satisfies Fields<WaitTimeout>);

export const AcceptedOutcomeForm = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("accepted"), delivery: DeliveryForm }),
    declined,
    dead,
    cancelled,
    expired,
    superseded,
    timeout,
  ])
  .meta({
    id: "Accepted",
    description: "The handoff was accepted, can no longer be accepted, or the wait timed out.",
  });

export const CompletedOutcomeForm = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("completed"),
      delivery: DeliveryForm,
      result: HandoffResultForm,
    } satisfies Variant<DeliveryOutcome, "completed">),
    z.strictObject({
      kind: z.literal("asked"),
      delivery: DeliveryForm,
      question: Text,
    } satisfies Variant<DeliveryOutcome, "asked">),
    declined,
    dead,
    cancelled,
    expired,
    superseded,
    timeout,
  ])
  .meta({
    id: "Completed",
    description: "How the handoff ended, an open question, or a timeout of the wait.",
  });

export const DeliveryDetailsForm = z
  .strictObject({
    delivery: DeliveryForm,
    envelope: EnvelopeForm,
    digest: Text,
    memory: Text,
    sentAt: Instant,
    attempts: z.array(AttemptForm),
    result: HandoffResultForm.exactOptional(),
    reason: Text.exactOptional(),
    question: Text.exactOptional(),
  } satisfies Fields<DeliveryDetails>)
  .meta({ id: "Shown", description: "A delivery with its envelope, its attempts and its result." });

export const DeliveryChangeForm = z.strictObject({
  delivery: DeliveryForm,
  digest: Text.meta({ description: "Pass it as seen in the next call" }),
});

export const NoteResultForm = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("noted"),
      memory: MemoryForm,
      envelope: Text.meta({ description: "Id of the newest envelope" }),
      secrets: SecretsForm.exactOptional(),
    }),
    z.strictObject({
      kind: z.literal("kept"),
      memory: MemoryForm,
      delivery: DeliveryForm.exactOptional(),
      secrets: SecretsForm.exactOptional(),
    }),
  ] satisfies [z.ZodType<Extract<NoteResult, { kind: "noted" }>>, z.ZodType])
  .meta({
    id: "Noted",
    description: "noted: stored on the work. kept: stored although the lease was lost.",
  });

export const SettleResultForm = z
  .strictObject({
    kind: z.literal("settled"),
    delivery: DeliveryForm,
    merge: z
      .union([
        MergeResultForm,
        z.strictObject({ kind: z.literal("refused"), branch: Text, error: ErrorForm }),
      ])
      .exactOptional()
      .meta({ description: "The result of merging the branch of the work" }),
    secrets: SecretsForm.exactOptional(),
  } satisfies Record<keyof SettleResult, z.ZodType>)
  .meta({ id: "Settled" });

export const OnceResultForm = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("begun") }),
    z.strictObject({
      kind: z.literal("done"),
      result: z.unknown().optional(),
      again: z.boolean(),
    } satisfies Variant<OnceResult<unknown>, "done">),
    z.strictObject({
      kind: z.literal("uncertain"),
      by: Text,
      since: Instant,
    } satisfies Variant<OnceResult<unknown>, "uncertain">),
  ])
  .meta({
    id: "Once",
    description:
      "begun: run the effect. done: its stored result. uncertain: begun earlier, no result recorded.",
  });

export const WorkUpdatesForm = z
  .strictObject({
    lost: ErrorForm.exactOptional().meta({
      description: "Set when the caller no longer holds the work",
    }),
    extended: EnvelopeForm.exactOptional().meta({
      description: "Set when the sender has extended the handoff",
    }),
    primer: PrimerForm.exactOptional(),
    warnings: z.array(WarningForm),
    warned: Text.meta({ description: "Pass it as warned in the next call" }),
  })
  .meta({
    id: "WorkNews",
    description: "What changed about accepted work: lost, extended or warned about.",
  });
