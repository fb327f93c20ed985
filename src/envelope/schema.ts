/**
 * The envelope schema: the single definition of what a handoff contains. Types, the JSON Schema, the sender's
 * draft and validation are all derived from it.
 *
 * Keys are declared in sorted order, so that the canonical text of a parsed envelope needs no sorting. A
 * missing list field becomes an empty list, so that readers need no null checks.
 */
import * as z from "zod";
import { idPattern } from "../base/ids.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { NAME_PATTERN, NAME_RULE } from "../base/names.ts";
import { compileLazily } from "./lazy-compile.ts";
import { toTolerantSchema } from "./tolerant-schema.ts";

/** The version of written envelopes. */
export const ENVELOPE_VERSION = "1.0";
/** The major version of this shape. */
export const ENVELOPE_MAJOR = 1;

const Version = z.string().regex(new RegExp(`^${ENVELOPE_MAJOR}\\.(0|[1-9][0-9]*)$`), {
  error: `must be a version ${ENVELOPE_MAJOR}.x`,
});

/** A name that people choose: of a role, task, run, channel, workspace or payload type. */
export const Name = z
  .string()
  .min(1)
  .max(FORMAT_LIMITS.nameLength)
  .regex(NAME_PATTERN, { error: NAME_RULE })
  .meta({ description: "A name: letters, digits, spaces and . _ / @ # + -" });

/** The canonical id or an alias of an agent: a name without spaces. */
export const AgentName = z
  .string()
  .min(1)
  .max(FORMAT_LIMITS.nameLength)
  .regex(/^[\p{L}\p{N}](?:[\p{L}\p{N}._/@#+-]*)$/u, {
    error: "must be an agent's name: letters, digits and . _ / @ # + -, no spaces",
  });

const Line = z.string().min(1).max(FORMAT_LIMITS.lineLength);
const Text = z.string().min(1).max(FORMAT_LIMITS.textLength);
const Lines = z.array(Line).max(FORMAT_LIMITS.listItems);
const Digest = z.string().regex(/^[0-9a-f]{64}$/, { error: "must be a SHA-256 digest in hex" });
const Instant = z.int().min(0).meta({ description: "Milliseconds since 1970-01-01T00:00:00Z" });

/** A time as people write it: milliseconds since 1970, or ISO 8601. */
export const TimeInput = z.union([Instant, z.iso.datetime({ offset: true }), z.iso.date()], {
  error: "must be milliseconds since 1970, or an ISO 8601 time with an offset",
});

/** Returns a time as milliseconds since 1970. */
export const instantOf = (moment: z.input<typeof TimeInput>): number =>
  typeof moment === "number" ? moment : Date.parse(moment);
const Fraction = z.number().min(0).max(1);
/** A lower-case identifier such as `needs_review`. */
export const Slug = z
  .string()
  .max(FORMAT_LIMITS.nameLength)
  .regex(/^[a-z][a-z0-9_-]*$/, { error: "must be a lower-case word such as needs_review" });
/** Any JSON object; canonicalJson rejects what JSON cannot represent, with its path. */
export const FreeForm = z.record(z.string(), z.unknown());

/** The id of a memory. */
export const MemoryId = z
  .string()
  .regex(idPattern("memory"), { error: "must be a memory id (mem_…)" });
/** The id of a delivery. */
export const DeliveryId = z
  .string()
  .regex(idPattern("delivery"), { error: "must be a delivery id (dlv_…)" });
/** The id of an envelope. */
export const EnvelopeId = z
  .string()
  .regex(idPattern("envelope"), { error: "must be an envelope id (env_…)" });

const SEGMENT = "[A-Za-z0-9][A-Za-z0-9._-]*";

/** The name of a branch, such as `run-42/planner`: its purpose, then the agent that works on it. */
export const BranchName = z
  .string()
  .max(FORMAT_LIMITS.nameLength)
  .regex(new RegExp(`^${SEGMENT}(/${SEGMENT})*$`), {
    error: "must be words with slashes between them, such as run-42/planner",
  });

const list = <Item extends z.ZodType>(item: Item) =>
  z.array(item).max(FORMAT_LIMITS.listItems).default([]);

/** Common actions: what the sender did, in one word that indicates what the receiver should do. */
export const ACTIONS = [
  "delegated",
  "completed",
  "needs_review",
  "needs_input",
  "escalated",
  "failed",
] as const;

/** How binding a constraint is. */
export const CONSTRAINT_LEVELS = ["must", "should", "may"] as const;

/** A rule for the work. A `must` stays on the ledger until it is released. */
export const Constraint = z.strictObject({
  id: Slug.meta({
    description: "The same on the whole line, so that a missing constraint is noticed",
  }),
  level: z.enum(CONSTRAINT_LEVELS),
  rule: Line,
  source: Line.optional().meta({ description: "The person, agent or document that requires it" }),
});

/** An open question. */
export const Decision = z.strictObject({
  id: Slug,
  options: Lines.default([]),
  owner: AgentName.optional().meta({ description: "The agent that decides" }),
  question: Line,
});

const Blocker = z.strictObject({ on: Line.optional(), what: Line });

const Artifact = z
  .strictObject({
    digest: Digest.optional().meta({ description: "SHA-256 of the content, if there is any" }),
    kind: Slug.meta({ description: "file, pr, url, output, …" }),
    note: Line.optional(),
    path: Line.meta({ description: "Path, URL or number" }),
  })
  .meta({
    description: "A file or resource that the work produced or needs, stored outside the envelope",
  });

const HistoryEntry = z.strictObject({
  agent: AgentName,
  at: Instant.optional(),
  decided: Line.optional(),
  did: Line,
  ref: MemoryId.optional(),
  why: Line.optional(),
});

/** How much of a record a view shows: a line that names it, its summary, an extract, or all of it. */
export const DETAIL_LEVELS = ["reference", "summary", "detail", "full"] as const;
export type DetailLevel = (typeof DETAIL_LEVELS)[number];

const Reference = z.strictObject({
  digest: Digest.meta({ description: "The record's digest when it was sent" }),
  id: MemoryId,
  level: z.enum(DETAIL_LEVELS).optional().meta({
    description: "How much of the record the receiver should see",
  }),
  summary: Text.optional().meta({ description: "Summary written by the sender" }),
});

/** How the view of a receiver is composed. */
export const VIEW_STRATEGIES = ["full", "summary", "priority", "lazy"] as const;
export type ViewStrategy = (typeof VIEW_STRATEGIES)[number];

const Budget = z.strictObject({ tokens: z.int().positive() });

/** A reference that could not be resolved yet. */
const Gap = z.strictObject({ id: MemoryId, reason: Line });

/** A statement in this envelope that conflicts with a constraint or decision of the line. */
const Flag = z.strictObject({
  about: Slug.meta({ description: "The id of the constraint or decision" }),
  path: Line.meta({ description: "The field of this envelope that conflicts" }),
  why: Line,
});

/** A constraint or an open decision that was released from the ledger. */
const Release = z.strictObject({
  by: AgentName,
  decided: Line.optional().meta({ description: "For a decision: the chosen option" }),
  id: Slug,
  reason: Line,
});

const ExpectedOutput = z.strictObject({
  criteria: Lines.default([]).meta({ description: "Acceptance criteria" }),
  format: Line.optional().meta({ description: "markdown, unified diff, JSON Schema name, …" }),
  maxLength: z.int().positive().optional().meta({ description: "In characters" }),
  name: Name,
  type: Slug.meta({ description: "text, code, json, file, …" }),
});

/** A payload: always a typed object, never a bare string. */
export const Payload = z.strictObject({ data: FreeForm, type: Name });

/** The receiver of a handoff: an agent, a role or a channel. */
export const Receiver = z.discriminatedUnion("kind", [
  z.strictObject({ agent: AgentName, kind: z.literal("agent") }),
  z.strictObject({ kind: z.literal("role"), role: Name }),
  z.strictObject({ channel: Name, kind: z.literal("channel") }),
]);

/**
 * Parses an address: `"coder"`, `"role:reviewer"` or `"channel:news"`. Returns undefined if it is invalid.
 */
export function receiverOf(address: string): z.output<typeof Receiver> | undefined {
  const colon = address.indexOf(":");
  const kind = colon < 0 ? "agent" : address.slice(0, colon);
  return Receiver.safeParse({ kind, [kind]: address.slice(colon + 1) }).data;
}

/** Returns the address of a receiver, in the form that `receiverOf` parses. */
export function addressOf(receiver: z.output<typeof Receiver>): string {
  switch (receiver.kind) {
    case "agent":
      return receiver.agent;
    case "role":
      return `role:${receiver.role}`;
    case "channel":
      return `channel:${receiver.channel}`;
  }
}

/** The address of a receiver as text. */
export const Address = z.string().refine((address) => receiverOf(address) !== undefined, {
  error: "is not a valid address",
  params: {
    rule: "receiver",
    hint: 'Use the name of an agent, "role:<role>" or "channel:<channel>".',
  },
});

/** Priorities, highest first. */
export const PRIORITIES = ["urgent", "high", "normal", "low"] as const;

/**
 * What happens when every attempt and every fallback has failed: the delivery becomes a dead letter (`park`),
 * or also a failure that the coordinator decides about (`escalate`).
 */
export const EXHAUSTED_ACTIONS = ["park", "escalate"] as const;

const Milliseconds = z.int().positive().max(FORMAT_LIMITS.durationMs);

/** How a handoff is retried. Fields that are absent use the defaults of the workspace. */
const Policy = z
  .strictObject({
    acceptMs: Milliseconds.optional().meta({
      description: "Milliseconds within which an attempt must be accepted; otherwise it has failed",
    }),
    attempts: z.int().positive().max(FORMAT_LIMITS.attempts).optional(),
    backoff: z.strictObject({ firstMs: Milliseconds, longestMs: Milliseconds }).optional(),
    deadline: Instant.optional().meta({
      description: "Time by which the delivery must be settled",
    }),
    exhausted: z.enum(EXHAUSTED_ACTIONS).optional(),
    fallback: z.array(Address).max(FORMAT_LIMITS.fallbacks).optional().meta({
      description: "Receivers to use next, each after all attempts of the one before have failed",
    }),
    remindMs: Milliseconds.optional().meta({
      description: "Milliseconds between reminders to the receiver until it accepts",
    }),
  })
  .meta({ description: "Retries, timeouts and fallbacks of the handoff" });

/**
 * A policy as a sender writes it: optionally with a deadline relative to now, or the single word "direct".
 */
export const PolicyDraft = z.union(
  [
    z.literal("direct"),
    Policy.extend({
      deadline: TimeInput.optional().meta({
        description: "Time by which the delivery must be settled",
      }),
      deadlineMs: Milliseconds.optional(),
    }),
  ],
  { error: 'must be "direct", or { acceptMs, attempts, fallback, deadlineMs, … }' },
);

/** An earlier handoff of the line. The same hop with the same payload again is a cycle. */
const Hop = z.strictObject({ from: AgentName, payload: Digest.optional(), to: Address });

const JoinedResult = z.strictObject({
  agent: AgentName,
  delivery: DeliveryId,
  memory: MemoryId.meta({ description: "The record that contains the result" }),
  outputs: FreeForm.optional(),
  summary: Text.optional(),
  task: Name,
});

const Reconstruction = z
  .strictObject({
    attempt: z.int().positive(),
    holder: AgentName,
    notes: z.int().min(0).meta({ description: "Number of notes it was made from" }),
    reason: Line,
  })
  .meta({ description: "Composed by the hub from the notes of a holder that stopped responding" });

const Redaction = z
  .strictObject({
    at: Instant,
    by: AgentName,
    digest: Digest.meta({ description: "Digest of the original envelope" }),
    id: EnvelopeId,
    reason: Text,
    record: MemoryId.meta({ description: "The record of the redaction" }),
  })
  .meta({ description: "The original content was erased permanently: by which agent, and why" });

const JoinCondition = z.strictObject({
  deliveries: z
    .array(DeliveryId)
    .min(1)
    .max(FORMAT_LIMITS.parents - 2),
  need: z.int().positive(),
});

/** Whether another attempt may succeed. */
export const FAILURE_CLASSES = ["retryable", "permanent"] as const;
export type FailureClass = (typeof FAILURE_CLASSES)[number];

/** A failure as its holder reports it. */
export const Failure = z.strictObject({
  attempted: Text.optional().meta({ description: "What the holder attempted" }),
  class: z.enum(FAILURE_CLASSES).default("retryable"),
  hints: z.array(Text).max(FORMAT_LIMITS.listItems).default([]),
  message: Text,
  type: z.string().min(1).max(FORMAT_LIMITS.nameLength).default("error"),
});

/** A failure as it is reported to the coordinator. */
const ReportedFailure = z.strictObject({
  attempt: z.int().min(0).meta({ description: "Number of the last attempt" }),
  attempted: Text.optional().meta({ description: "What the holder attempted" }),
  by: AgentName.optional().meta({
    description: "The agent that failed; absent if no agent claimed the delivery",
  }),
  class: z.enum(FAILURE_CLASSES),
  delivery: DeliveryId.meta({ description: "The delivery that was given up" }),
  hints: z.array(Text).max(FORMAT_LIMITS.listItems).default([]).meta({
    description: "Possible fixes",
  }),
  message: Text,
  retries: z.int().min(0).meta({ description: "Number of attempts after the first" }),
  type: z.string().min(1).max(FORMAT_LIMITS.nameLength).meta({
    description: "timeout, invalid_input, silent, declined, dependency, …",
  }),
});

const Sender = z.strictObject({ agent: AgentName, instance: Name, role: Name.optional() });

const Metadata = z.looseObject({
  confidence: Fraction.optional(),
  createdAt: Instant,
  model: Line.optional(),
  tokens: z
    .strictObject({ input: z.int().min(0).optional(), output: z.int().min(0).optional() })
    .optional(),
});

/** The envelope: everything that one handoff passes to its receiver. */
export const EnvelopeSchema = z
  .strictObject({
    action: Slug.meta({ description: `What the sender did; usually ${ACTIONS.join(", ")}` }),
    after: z
      .array(Name)
      .max(FORMAT_LIMITS.parents - 2)
      .optional()
      .meta({
        description: "Tasks that must be completed before this one starts",
      }),
    artifacts: list(Artifact),
    blocked: list(Blocker).meta({ description: "What is blocked, and by what" }),
    branch: BranchName.optional().meta({
      description: "The branch for the work: notes and results are written there",
    }),
    brief: MemoryId.optional().meta({
      description: "The record with the full text of an intent that is too long for an envelope",
    }),
    budget: Budget.optional().meta({
      description: "Token budget of the receiver's view",
    }),
    constraints: list(Constraint),
    decisions: list(Decision).meta({ description: "Open questions" }),
    doNotRedo: Lines.default([]),
    done: Lines.default([]),
    expects: list(ExpectedOutput),
    failure: ReportedFailure.optional().meta({
      description: "The failure that this envelope asks to decide about",
    }),
    flags: z.array(Flag).max(FORMAT_LIMITS.listItems).optional().meta({
      description:
        "Statements of this handoff that conflict with constraints or decisions of the line",
    }),
    from: Sender,
    gaps: z.array(Gap).max(FORMAT_LIMITS.references).optional().meta({
      description: "References that could not be resolved yet",
    }),
    history: list(HistoryEntry).meta({
      description: "Earlier steps: which agent did what, what was decided, and why",
    }),
    hop: z.int().min(0).meta({ description: "Number of handoffs before this one on the line" }),
    id: EnvelopeId,
    intent: Text.meta({ description: "What the user originally wanted, verbatim" }),
    joins: JoinCondition.optional().meta({
      description: "Opens when the given number of these deliveries has completed",
    }),
    mergeOnComplete: z.literal(true).optional().meta({
      description: "Merge the branch when the work is completed, unless there are conflicts",
    }),
    metadata: Metadata,
    next: Lines.default([]).meta({ description: "What the receiver should do" }),
    origin: Text.optional().meta({
      description:
        "The original intent of the task, verbatim; present if `intent` is worded differently",
    }),
    parents: z.array(EnvelopeId).max(FORMAT_LIMITS.parents).default([]),
    path: z
      .array(Hop)
      .max(FORMAT_LIMITS.hops + 1)
      .optional()
      .meta({
        description: "The handoffs before this one on the line, oldest first",
      }),
    payload: Payload.optional(),
    policy: Policy.optional(),
    priority: z.enum(PRIORITIES).optional(),
    queued: z.literal(true).optional().meta({
      description: "The task was queued and is closed when its line ends",
    }),
    receipt: z.literal(true).optional().meta({
      description:
        "The receiver must accept with a receipt: goal, first step and the ids of all `must` constraints",
    }),
    recent: z.int().min(0).max(FORMAT_LIMITS.listItems).optional().meta({
      description: "Maximum number of recent memories of the task in the view",
    }),
    reconstructed: Reconstruction.optional(),
    redacted: Redaction.optional(),
    refs: z.array(Reference).max(FORMAT_LIMITS.references).default([]),
    released: z.array(Release).max(FORMAT_LIMITS.listItems).optional().meta({
      description:
        "Constraints and decisions that this handoff released from the ledger, with reasons",
    }),
    results: z.array(JoinedResult).max(FORMAT_LIMITS.parents).optional().meta({
      description: "Results of the joined handoffs",
    }),
    run: Name.optional(),
    state: Text.optional().meta({ description: "Current state of the task" }),
    strategy: z.enum(VIEW_STRATEGIES).optional().meta({
      description: "How the receiver's view is composed",
    }),
    task: Name,
    to: Receiver,
    touches: z.array(Line).max(FORMAT_LIMITS.listItems).optional().meta({
      description: "Files and resources the work will change, as globs",
    }),
    version: Version,
    workspace: Name,
  })
  .meta({
    title: "Baton envelope",
    description: "One handoff of a task from one agent to another; immutable once sent.",
  });

/** A parsed envelope. */
export type Envelope = z.infer<typeof EnvelopeSchema>;

/** The same schema, compiled: 1.5 µs per envelope instead of 7. For parsing only. */
export const CompiledEnvelopeSchema = compileLazily(EnvelopeSchema);

/** For reading envelopes: accepts any minor version and keeps unknown fields. */
export const TolerantEnvelopeSchema = toTolerantSchema(EnvelopeSchema);
/** For reading envelopes: drops unknown fields. */
export const KnownFieldsEnvelopeSchema = toTolerantSchema(EnvelopeSchema, "drop");

/** An envelope with a payload of type `T`. */
export type EnvelopeOf<T> = Omit<Envelope, "payload"> & {
  readonly payload?: { readonly type: string; readonly data: T } | undefined;
};

/**
 * What a sender writes: the same fields, with short forms for lists of records. The fields that the hub sets
 * (ids, sender, version, digests, hop) are not part of a draft.
 */
export const DraftSchema = z.strictObject({
  ...EnvelopeSchema.pick({
    branch: true,
    budget: true,
    doNotRedo: true,
    done: true,
    expects: true,
    history: true,
    mergeOnComplete: true,
    next: true,
    payload: true,
    priority: true,
    receipt: true,
    recent: true,
    run: true,
    state: true,
    strategy: true,
    touches: true,
  }).shape,
  action: EnvelopeSchema.shape.action.default("delegated"),
  /** A path or a URL is short for an artifact of kind "file" or "url". */
  artifacts: list(
    z.union([Line, Artifact], { error: "must be a path or URL, or { kind, path, … }" }),
  ),
  blocked: list(z.union([Line, Blocker], { error: "must be a text, or { what, on }" })),
  /** Milliseconds to wait before the delivery becomes ready. */
  delayMs: Milliseconds.optional(),
  /** Idempotency key: sending again with the same key returns the original handoff. */
  key: Name.optional(),
  constraints: list(
    z.union([Line, Constraint.partial({ id: true, level: true })], {
      error: "must be a rule, or { rule, level }",
    }),
  ),
  decisions: list(
    z.union([Line, Decision.partial({ id: true })], {
      error: "must be a question, or { question, options }",
    }),
  ),
  /** An intent too long for an envelope is stored as a record; the envelope contains its beginning. */
  intent: z.string().min(1).max(FORMAT_LIMITS.contentLength),
  // Parsed as a record first: an object schema alone accepts a Map as an empty object.
  metadata: FreeForm.pipe(Metadata.omit({ createdAt: true })).optional(),
  parents: z.array(EnvelopeId).max(FORMAT_LIMITS.parents).optional(),
  policy: PolicyDraft.optional(),
  refs: z
    .array(
      z.union(
        [
          MemoryId,
          Reference.omit({ digest: true }).extend({
            /** If true, a reference that cannot be resolved becomes a gap instead of an error. */
            optional: z.literal(true).optional(),
          }),
        ],
        { error: "must be a memory id (mem_…), or { id, summary }" },
      ),
    )
    .max(FORMAT_LIMITS.references)
    .default([]),
  /** Constraints and open decisions to release from the ledger, by id, each with a reason. */
  releases: list(Release.omit({ by: true })),
  task: Name.optional(),
  to: z
    .union([Address, Receiver], {
      error: 'must be an agent\'s name, "role:…", "channel:…", or { kind, … }',
    })
    .optional(),
});

/** A handoff as a sender writes it. */
export type Draft = z.input<typeof DraftSchema>;
/** A validated draft, with defaults. */
export type CheckedDraft = z.output<typeof DraftSchema>;
/** A policy as a sender writes it. */
export type PolicyInput = NonNullable<Draft["policy"]>;
/** A policy in an envelope: with an absolute deadline. */
export type SealedPolicy = NonNullable<Envelope["policy"]>;
export type Priority = (typeof PRIORITIES)[number];

/** The same schema, compiled. For parsing only. */
export const CompiledDraftSchema = compileLazily(DraftSchema);
/** For drafts that repeat parts of an envelope: keeps unknown fields. */
export const TolerantDraftSchema = toTolerantSchema(DraftSchema);

/** A draft with a payload of type `T`. */
export type DraftOf<T> = Omit<Draft, "payload"> & {
  readonly payload?: { readonly type: string; readonly data: T } | undefined;
};
