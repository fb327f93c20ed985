/** Deliveries: where a handoff stands, what came of it, and what its holder has in hand. */

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

/** One of several answers, told apart by its kind. */
type Variant<Answers extends { readonly kind: string }, Kind extends Answers["kind"]> = Fields<
  Extract<Answers, { readonly kind: Kind }>
>;

const delivery = {
  id: Text,
  envelope: Text.meta({ description: "The newest envelope of it" }),
  task: Text,
  sender: Text,
  receiver: Text.meta({ description: "An agent's id, or role:…" }),
  parent: Text.exactOptional().meta({
    description: "The envelope this work continues; absent for the first handoff of a line",
  }),
  state: z.enum(DELIVERY_STATES),
  place: z.int().meta({ description: "Order within the receiver's inbox" }),
  inTurn: z.boolean().meta({ description: "False: earlier work of the same task comes first" }),
  attempt: Count.meta({ description: "Claims so far" }),
  maxAttempts: Count,
  fence: Count.meta({ description: "Grows with every claim" }),
  holder: Text.exactOptional().meta({ description: "The agent that holds it, or held it last" }),
  instance: Text.exactOptional().meta({ description: "The session of the holder" }),
  lease: z.enum(["process", "session"]).exactOptional().meta({
    description:
      "What the lease is bound to: a process ends it when it dies, a session only by time",
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
  .meta({ id: "Delivery", description: "Where a handoff stands at one receiver." });

const HeldDeliveryForm = z
  .strictObject({
    ...delivery,
    holder: Text,
    instance: Text,
    leaseUntil: Instant,
  } satisfies Fields<HeldDelivery>)
  .meta({ id: "HeldDelivery", description: "A delivery that an offer or accepted work holds." });

/** Of a call in which something was said that is stored. */
export const AnsweredDeliveryForm = z
  .strictObject({ ...delivery, secrets: SecretsForm.exactOptional() })
  .meta({ id: "AnsweredDelivery", description: "Where a handoff stands after it was answered." });

export const AttemptForm = z
  .strictObject({
    delivery: Text,
    attempt: Count,
    holder: Text.exactOptional().meta({ description: "Absent: it was never claimed" }),
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
    state: z.enum(DELIVERY_STATES).meta({ description: "Open, or completed" }),
    by: Text.meta({ description: "Who sent it" }),
    holder: Text.exactOptional().meta({
      description: "The agent that works on it or completed it; absent while it waits",
    }),
    at: Instant.meta({ description: "When it was completed, or else sent" }),
    why: z.enum(["task", "work"]).meta({
      description: "Of the same task, or the same intent under another task",
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
      description: "New work, how it joined work that was open, or the same key again",
    }),
    cycle: z
      .array(z.strictObject({ from: Text, payload: Text.exactOptional(), to: Text }))
      .meta({ description: "Handoffs since the line was here before with the same payload" }),
    stopped: z.boolean().meta({ description: "The line is longer than it may be: parked" }),
    deprecated: z.array(
      z.strictObject({ path: Text, since: Text, use: Text } satisfies Fields<DeprecatedField>),
    ),
    deliveries: z.array(DeliveryForm).meta({ description: "One for each receiver" }),
    secrets: SecretsForm,
    findings: z.array(FindingForm).meta({ description: "What the lint finds in it" }),
    repeats: z.array(RepeatForm).meta({ description: "Earlier handoffs it repeats, newest first" }),
  } satisfies Fields<SentFields>)
  .meta({ id: "Sent", description: "A handoff, stored for good, and where it went." });

const EarlierAttemptForm = z
  .strictObject({
    attempt: Count,
    by: Text.exactOptional(),
    at: Instant,
    outcome: z.enum(ATTEMPT_OUTCOMES),
    type: Text.exactOptional().meta({ description: "Of a failure: its type, such as timeout" }),
    message: Text.exactOptional().meta({ description: "Why it ended" }),
    attempted: Text.exactOptional().meta({ description: "What was tried" }),
    hints: Texts,
    notes: z
      .array(z.strictObject({ id: Text, at: Instant, text: Text } satisfies Fields<AttemptNote>))
      .meta({ description: "What its holder noted, oldest first; at most 20" }),
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
  until: Instant.meta({ description: "Unless the lease of its work is renewed" }),
} satisfies Fields<Omit<Reservation, "instance">>;

export const ReservationForm = z
  .strictObject({ ...reservation, instance: Text } satisfies Fields<Reservation>)
  .meta({ id: "Reservation", description: "What somebody says they work on, while they do." });

export const ReservationConflictForm = z
  .strictObject({
    ...reservation,
    globs: Texts.meta({ description: "Of theirs, those that can mean the same" }),
    with: Texts.meta({ description: "What was asked about that they can mean" }),
  } satisfies Fields<ReservationConflict>)
  .meta({ id: "ReservationConflict", description: "Who else works there. Told, never enforced." });

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
    handle: Text.meta({ description: "By which it is answered" }),
    delivery: HeldDeliveryForm,
    envelope: EnvelopeForm,
    primer: PrimerForm,
    ...background,
  } satisfies Fields<OfferFields>)
  .meta({ id: "Offer", description: "A handoff that was claimed, to accept or to leave." });

export const WorkForm = z
  .strictObject({
    handle: Text.meta({ description: "By which it is gone on with and settled" }),
    delivery: HeldDeliveryForm,
    envelope: EnvelopeForm,
    primer: PrimerForm,
    conflicts: z.array(ReservationConflictForm),
    ...background,
  } satisfies Fields<WorkFields>)
  .meta({ id: "Work", description: "Work that was accepted." });

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
  .meta({ id: "DeadLetter", description: "What was given up, with every try." });

export const WarningForm = z
  .strictObject({
    memory: Text.meta({ description: "What was quarantined" }),
    by: Text,
    at: Instant,
    reason: Text,
    record: Text.meta({ description: "The record on the chain that says so" }),
  } satisfies Fields<Warning>)
  .meta({ id: "Warning", description: "Something a piece of work carries is not to be built on." });

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
  .meta({ id: "Error", description: "An error, as every door tells it." });

export const TriedFailureForm = z
  .strictObject({
    attempted: Text.exactOptional(),
    by: Text.exactOptional().meta({ description: "Who failed; nobody, where nobody took it" }),
    class: z.enum(FAILURE_CLASSES),
    hints: Texts,
    message: Text,
    type: Text,
  } satisfies Fields<AttemptFailure>)
  .meta({ id: "TriedFailure", description: "What went wrong, as far as its try tells." });

export const storedDecisionFields = {
  at: Instant,
  by: Text,
  decision: z.enum(DECISION_KINDS).exclude(["ask"]),
  failure: z.strictObject({ class: z.enum(FAILURE_CLASSES), type: Text }),
  reason: Text,
  record: Text.meta({ description: "The memory that says so" }),
  report: Text.exactOptional().meta({
    description: "The delivery of the report; absent if none was sent",
  }),
  task: Text,
  to: Text.exactOptional().meta({ description: "Who has it tried from then on" }),
} satisfies Fields<StoredFailureDecision>;

export const StoredDecisionForm = z
  .strictObject(storedDecisionFields)
  .meta({ id: "KeptDecision", description: "What was decided about a failure, for good." });

const HandoffResultForm = z
  .strictObject({
    summary: Text,
    outputs: z.record(z.string(), z.unknown()),
    confidence: z.number().exactOptional(),
    outcome: Text.exactOptional(),
    gaps: z.array(GapForm).exactOptional(),
    memory: Text.meta({ description: "The record that holds it" }),
    handedOn: Text.exactOptional().meta({ description: "The delivery it was handed on as" }),
  } satisfies Fields<HandoffResult>)
  .meta({ id: "HandoffResult", description: "What a receiver made of it." });

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
  .meta({ id: "Accepted", description: "Somebody has it, or never will, or the wait was over." });

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
  .meta({ id: "Completed", description: "How it ended, or that the wait was over before." });

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
  .meta({ id: "Shown", description: "One delivery, with every time, every try, what came of it." });

export const DeliveryChangeForm = z.strictObject({
  delivery: DeliveryForm,
  digest: Text.meta({ description: "To be said back as seen" }),
});

export const NoteResultForm = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("noted"),
      memory: MemoryForm,
      envelope: Text.meta({ description: "The envelope that counts now" }),
      secrets: SecretsForm.exactOptional(),
    }),
    z.strictObject({
      kind: z.literal("kept"),
      memory: MemoryForm,
      delivery: DeliveryForm.exactOptional(),
      secrets: SecretsForm.exactOptional(),
    }),
  ] satisfies [z.ZodType<Extract<NoteResult, { kind: "noted" }>>, z.ZodType])
  .meta({ id: "Noted", description: "A note on a piece of work; kept also where that was lost." });

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
      .meta({ description: "What came of merging its branch" }),
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
  .meta({ id: "Once", description: "Whether an effect may begin, or what is known of it." });

export const WorkUpdatesForm = z
  .strictObject({
    lost: ErrorForm.exactOptional().meta({
      description: "There when it is no longer the caller's",
    }),
    extended: EnvelopeForm.exactOptional().meta({
      description: "There when the sender added to it",
    }),
    primer: PrimerForm.exactOptional(),
    warnings: z.array(WarningForm),
    warned: Text.meta({ description: "To be said back as warned" }),
  })
  .meta({ id: "WorkNews", description: "What a holder is told of without having asked." });
