/**
 * The envelope: the only definition of what a handoff carries. Types, the JSON Schema, the
 * sender's draft and the validation all come from here.
 *
 * Keys are declared in sorted order, so that the canonical text of a parsed envelope needs no
 * sorting. A list field that is missing is an empty list: a reader never has to ask.
 */
import * as z from "zod";
import { idPattern } from "../base/ids.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { NAME_PATTERN, NAME_RULE } from "../base/names.ts";
import { compileLazily } from "./lazy-compile.ts";
import { toTolerantSchema } from "./tolerant-schema.ts";

/** The version that is written. */
export const ENVELOPE_VERSION = "1.0";
/** The major version of this shape. */
export const ENVELOPE_MAJOR = 1;

const Version = z.string().regex(new RegExp(`^${ENVELOPE_MAJOR}\\.(0|[1-9][0-9]*)$`), {
  error: `must be a version ${ENVELOPE_MAJOR}.x`,
});

export const Name = z
  .string()
  .min(1)
  .max(FORMAT_LIMITS.nameLength)
  .regex(NAME_PATTERN, { error: NAME_RULE })
  .meta({ description: "A name: letters, digits, spaces and . _ / @ # + -" });

/** An agent's canonical id or alias: a name without spaces. */
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

/** A time as people write it. */
export const TimeInput = z.union([Instant, z.iso.datetime({ offset: true }), z.iso.date()], {
  error: "must be milliseconds since 1970, or an ISO 8601 time with its offset",
});

export const instantOf = (moment: z.input<typeof TimeInput>): number =>
  typeof moment === "number" ? moment : Date.parse(moment);
const Fraction = z.number().min(0).max(1);
export const Slug = z
  .string()
  .max(FORMAT_LIMITS.nameLength)
  .regex(/^[a-z][a-z0-9_-]*$/, { error: "must be a lower-case word such as needs_review" });
/** Whatever JSON can carry; canonicalJson refuses the rest, with its path. */
export const FreeForm = z.record(z.string(), z.unknown());

export const MemoryId = z
  .string()
  .regex(idPattern("memory"), { error: "must be a memory id (mem_…)" });
export const DeliveryId = z
  .string()
  .regex(idPattern("delivery"), { error: "must be a delivery id (dlv_…)" });
export const EnvelopeId = z
  .string()
  .regex(idPattern("envelope"), { error: "must be an envelope id (env_…)" });

const SEGMENT = "[A-Za-z0-9][A-Za-z0-9._-]*";

/** A branch's name, such as `run-42/planner`: what it is for, then who works on it. */
export const BranchName = z
  .string()
  .max(FORMAT_LIMITS.nameLength)
  .regex(new RegExp(`^${SEGMENT}(/${SEGMENT})*$`), {
    error: "must be words with slashes between them, such as run-42/planner",
  });

const list = <Item extends z.ZodType>(item: Item) =>
  z.array(item).max(FORMAT_LIMITS.listItems).default([]);

/** What the sender did, in one word that tells the receiver what comes next. */
export const ACTIONS = [
  "delegated",
  "completed",
  "needs_review",
  "needs_input",
  "escalated",
  "failed",
] as const;

export const CONSTRAINT_LEVELS = ["must", "should", "may"] as const;

export const Constraint = z.strictObject({
  id: Slug.meta({ description: "Stable along the whole line, so that nothing is lost unnoticed" }),
  level: z.enum(CONSTRAINT_LEVELS),
  rule: Line,
  source: Line.optional().meta({ description: "Who or what demands it" }),
});

export const Decision = z.strictObject({
  id: Slug,
  options: Lines.default([]),
  owner: AgentName.optional().meta({ description: "Who is to decide" }),
  question: Line,
});

const Blocker = z.strictObject({ on: Line.optional(), what: Line });

const Artifact = z
  .strictObject({
    digest: Digest.optional().meta({ description: "SHA-256 of the content, where there is some" }),
    kind: Slug.meta({ description: "file, pr, url, output, …" }),
    note: Line.optional(),
    path: Line.meta({ description: "Path, URL or number" }),
  })
  .meta({ description: "Something the work produced or needs, kept outside the envelope" });

const HistoryEntry = z.strictObject({
  agent: AgentName,
  at: Instant.optional(),
  decided: Line.optional(),
  did: Line,
  ref: MemoryId.optional(),
  why: Line.optional(),
});

/** How much of a record is shown: a line that names it, its summary, the gist, all of it. */
export const DETAIL_LEVELS = ["reference", "summary", "detail", "full"] as const;
export type DetailLevel = (typeof DETAIL_LEVELS)[number];

const Reference = z.strictObject({
  digest: Digest.meta({ description: "The record's digest when it was sent" }),
  id: MemoryId,
  level: z.enum(DETAIL_LEVELS).optional().meta({
    description: "How much of it the receiver should see",
  }),
  summary: Text.optional().meta({ description: "The sender's own summary" }),
});

/** How a receiver's view is made of what there is. */
export const VIEW_STRATEGIES = ["full", "summary", "priority", "lazy"] as const;
export type ViewStrategy = (typeof VIEW_STRATEGIES)[number];

const Budget = z.strictObject({ tokens: z.int().positive() });

/** A reference that nobody could resolve yet. */
const Gap = z.strictObject({ id: MemoryId, reason: Line });

/** Something a hop says that speaks against what the line carries. */
const Flag = z.strictObject({
  about: Slug.meta({ description: "The id of the constraint or decision" }),
  path: Line.meta({ description: "Where in this envelope it is said" }),
  why: Line,
});

/** A constraint or an open decision that was taken off the line. */
const Release = z.strictObject({
  by: AgentName,
  decided: Line.optional().meta({ description: "Of a decision: what was chosen" }),
  id: Slug,
  reason: Line,
});

const ExpectedOutput = z.strictObject({
  criteria: Lines.default([]).meta({ description: "How the receiver knows that it is good" }),
  format: Line.optional().meta({ description: "markdown, unified diff, JSON Schema name, …" }),
  maxLength: z.int().positive().optional().meta({ description: "In characters" }),
  name: Name,
  type: Slug.meta({ description: "text, code, json, file, …" }),
});

/** A payload is always a typed object, never a bare string. */
export const Payload = z.strictObject({ data: FreeForm, type: Name });

export const Receiver = z.discriminatedUnion("kind", [
  z.strictObject({ agent: AgentName, kind: z.literal("agent") }),
  z.strictObject({ kind: z.literal("role"), role: Name }),
  z.strictObject({ channel: Name, kind: z.literal("channel") }),
]);

/** `"coder"`, `"role:reviewer"` or `"channel:news"`; undefined when it is no address. */
export function receiverOf(address: string): z.output<typeof Receiver> | undefined {
  const colon = address.indexOf(":");
  const kind = colon < 0 ? "agent" : address.slice(0, colon);
  return Receiver.safeParse({ kind, [kind]: address.slice(colon + 1) }).data;
}

/** How a receiver is written in one word. */
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

export const Address = z.string().refine((address) => receiverOf(address) !== undefined, {
  error: "is not an address",
  params: {
    rule: "receiver",
    hint: 'Write an agent\'s name, "role:<role>" or "channel:<channel>".',
  },
});

/** From first to last. */
export const PRIORITIES = ["urgent", "high", "normal", "low"] as const;

/** What happens when every try and every fallback is used up: parked, or parked and told. */
export const EXHAUSTED_ACTIONS = ["park", "escalate"] as const;

const Milliseconds = z.int().positive().max(FORMAT_LIMITS.durationMs);

/** How a handoff is tried. What is not said here is the default of the workspace. */
const Policy = z
  .strictObject({
    acceptMs: Milliseconds.optional().meta({
      description: "A try that nobody accepts within this time has failed",
    }),
    attempts: z.int().positive().max(FORMAT_LIMITS.attempts).optional(),
    backoff: z.strictObject({ firstMs: Milliseconds, longestMs: Milliseconds }).optional(),
    deadline: Instant.optional().meta({ description: "By then it must be settled" }),
    exhausted: z.enum(EXHAUSTED_ACTIONS).optional(),
    fallback: z.array(Address).max(FORMAT_LIMITS.fallbacks).optional().meta({
      description: "Who gets it when all tries of the one before are used up",
    }),
    remindMs: Milliseconds.optional().meta({
      description: "How often the receiver is reminded until it accepts",
    }),
  })
  .meta({ description: "How it is tried, and what happens when nobody takes it" });

/** A policy as people write it: with a deadline from now, or in one word. */
export const PolicyDraft = z.union(
  [
    z.literal("direct"),
    Policy.extend({
      deadline: TimeInput.optional().meta({ description: "By then it must be settled" }),
      deadlineMs: Milliseconds.optional(),
    }),
  ],
  { error: 'must be "direct", or { acceptMs, attempts, fallback, deadlineMs, … }' },
);

/** A handoff before this one on the line; repeated with the same payload it is a cycle. */
const Hop = z.strictObject({ from: AgentName, payload: Digest.optional(), to: Address });

const JoinedResult = z.strictObject({
  agent: AgentName,
  delivery: DeliveryId,
  memory: MemoryId.meta({ description: "The record that holds the result" }),
  outputs: FreeForm.optional(),
  summary: Text.optional(),
  task: Name,
});

const Reconstruction = z
  .strictObject({
    attempt: z.int().positive(),
    holder: AgentName,
    notes: z.int().min(0).meta({ description: "How many notes it was made from" }),
    reason: Line,
  })
  .meta({ description: "Made by the hub from what a holder left that fell silent" });

const Redaction = z
  .strictObject({
    at: Instant,
    by: AgentName,
    digest: Digest.meta({ description: "The digest of what was sent" }),
    id: EnvelopeId,
    reason: Text,
    record: MemoryId.meta({ description: "The record that vouches for it" }),
  })
  .meta({ description: "What was sent was taken away for good: by whom, and why" });

const JoinCondition = z.strictObject({
  deliveries: z
    .array(DeliveryId)
    .min(1)
    .max(FORMAT_LIMITS.parents - 2),
  need: z.int().positive(),
});

/** A failure that another try may mend, or one that it cannot. */
export const FAILURE_CLASSES = ["retryable", "permanent"] as const;
export type FailureClass = (typeof FAILURE_CLASSES)[number];

/** What went wrong, as whoever failed reports it. */
export const Failure = z.strictObject({
  attempted: Text.optional().meta({ description: "What was tried" }),
  class: z.enum(FAILURE_CLASSES).default("retryable"),
  hints: z.array(Text).max(FORMAT_LIMITS.listItems).default([]),
  message: Text,
  type: z.string().min(1).max(FORMAT_LIMITS.nameLength).default("error"),
});

/** A failure on its way to whoever decides about it. */
const ReportedFailure = z.strictObject({
  attempt: z.int().min(0).meta({ description: "The try it was given up after" }),
  attempted: Text.optional().meta({ description: "What was tried" }),
  by: AgentName.optional().meta({ description: "Who failed; nobody, where nobody took it" }),
  class: z.enum(FAILURE_CLASSES),
  delivery: DeliveryId.meta({ description: "The delivery that was given up" }),
  hints: z.array(Text).max(FORMAT_LIMITS.listItems).default([]).meta({
    description: "What might mend it",
  }),
  message: Text,
  retries: z.int().min(0).meta({ description: "Tries after the first" }),
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

export const EnvelopeSchema = z
  .strictObject({
    action: Slug.meta({ description: `What the sender did; commonly ${ACTIONS.join(", ")}` }),
    after: z
      .array(Name)
      .max(FORMAT_LIMITS.parents - 2)
      .optional()
      .meta({
        description: "Tasks that must be done before this one begins",
      }),
    artifacts: list(Artifact),
    blocked: list(Blocker).meta({ description: "What waits, and on what" }),
    branch: BranchName.optional().meta({
      description: "The branch the work is done on: what is noted and handed in goes there",
    }),
    brief: MemoryId.optional().meta({
      description: "The record that holds the whole of an intent too long to travel",
    }),
    budget: Budget.optional().meta({
      description: "How much the receiver's view may take",
    }),
    constraints: list(Constraint),
    decisions: list(Decision).meta({ description: "Questions that are still open" }),
    doNotRedo: Lines.default([]),
    done: Lines.default([]),
    expects: list(ExpectedOutput),
    failure: ReportedFailure.optional().meta({
      description: "What failed: this envelope asks for a decision about it",
    }),
    flags: z.array(Flag).max(FORMAT_LIMITS.listItems).optional().meta({
      description: "What this hop says against the line's constraints and decisions",
    }),
    from: Sender,
    gaps: z.array(Gap).max(FORMAT_LIMITS.references).optional().meta({
      description: "References that could not be resolved so far",
    }),
    history: list(HistoryEntry).meta({ description: "Who did what, what was decided, and why" }),
    hop: z.int().min(0).meta({ description: "Handoffs before this one on the task's line" }),
    id: EnvelopeId,
    intent: Text.meta({ description: "What the user originally wanted, verbatim" }),
    joins: JoinCondition.optional().meta({
      description: "Opens when so many of these have completed",
    }),
    mergeOnComplete: z.literal(true).optional().meta({
      description: "Completing the work merges its branch, unless there are conflicts",
    }),
    metadata: Metadata,
    next: Lines.default([]).meta({ description: "What the receiver is to do" }),
    origin: Text.optional().meta({
      description: "The task's original intent, verbatim, where `intent` says it in other words",
    }),
    parents: z.array(EnvelopeId).max(FORMAT_LIMITS.parents).default([]),
    path: z
      .array(Hop)
      .max(FORMAT_LIMITS.hops + 1)
      .optional()
      .meta({
        description: "The handoffs before this one on its line, first to last",
      }),
    payload: Payload.optional(),
    policy: Policy.optional(),
    priority: z.enum(PRIORITIES).optional(),
    queued: z.literal(true).optional().meta({
      description: "Its task is in the queue: the end of its line closes it",
    }),
    receipt: z.literal(true).optional().meta({
      description: "Whoever accepts must repeat goal, first step and the ids of all musts",
    }),
    recent: z.int().min(0).max(FORMAT_LIMITS.listItems).optional().meta({
      description: "How many of the task's recent memories the view may draw on",
    }),
    reconstructed: Reconstruction.optional(),
    redacted: Redaction.optional(),
    refs: z.array(Reference).max(FORMAT_LIMITS.references).default([]),
    released: z.array(Release).max(FORMAT_LIMITS.listItems).optional().meta({
      description: "Constraints and decisions that this hop has taken off the line, with reasons",
    }),
    results: z.array(JoinedResult).max(FORMAT_LIMITS.parents).optional().meta({
      description: "What the joined lines have come to",
    }),
    run: Name.optional(),
    state: Text.optional().meta({ description: "Where the task stands" }),
    strategy: z.enum(VIEW_STRATEGIES).optional().meta({
      description: "How the receiver's view is made of what there is",
    }),
    task: Name,
    to: Receiver,
    touches: z.array(Line).max(FORMAT_LIMITS.listItems).optional().meta({
      description: "Files and resources the work will touch, as globs",
    }),
    version: Version,
    workspace: Name,
  })
  .meta({
    title: "Baton envelope",
    description: "One handoff of a task from one agent to the next: immutable once sent.",
  });

export type Envelope = z.infer<typeof EnvelopeSchema>;

/** The same schema, compiled: 1.5 µs an envelope instead of 7. For parsing only. */
export const CompiledEnvelopeSchema = compileLazily(EnvelopeSchema);

/** An envelope as it is read: of any minor version, with fields that nobody here knows. */
export const TolerantEnvelopeSchema = toTolerantSchema(EnvelopeSchema);
/** Only what is known of it. */
export const KnownFieldsEnvelopeSchema = toTolerantSchema(EnvelopeSchema, "drop");

/** An envelope whose payload is known to be a `T`. */
export type EnvelopeOf<T> = Omit<Envelope, "payload"> & {
  readonly payload?: { readonly type: string; readonly data: T } | undefined;
};

/**
 * What a sender writes. The same fields, with the short forms people like to type; everything the
 * hub knows better (ids, sender, version, digests, hop) is not theirs to say.
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
  blocked: list(z.union([Line, Blocker], { error: "must be what waits, or { what, on }" })),
  /** Not before so many milliseconds from now. */
  delayMs: Milliseconds.optional(),
  /** The same key again is the same handoff: sent once, however often it is tried. */
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
  /** One that is too long to travel is kept whole as a record; its beginning travels. */
  intent: z.string().min(1).max(FORMAT_LIMITS.contentLength),
  // Through a record first: an object schema alone takes a Map for an empty object.
  metadata: FreeForm.pipe(Metadata.omit({ createdAt: true })).optional(),
  parents: z.array(EnvelopeId).max(FORMAT_LIMITS.parents).optional(),
  policy: PolicyDraft.optional(),
  refs: z
    .array(
      z.union(
        [
          MemoryId,
          Reference.omit({ digest: true }).extend({
            /** One that cannot be resolved now travels as a gap, instead of stopping the handoff. */
            optional: z.literal(true).optional(),
          }),
        ],
        { error: "must be a memory id (mem_…), or { id, summary }" },
      ),
    )
    .max(FORMAT_LIMITS.references)
    .default([]),
  /** What is taken off the line: constraints and open decisions, by their ids, each with why. */
  releases: list(Release.omit({ by: true })),
  task: Name.optional(),
  to: z
    .union([Address, Receiver], {
      error: 'must be an agent\'s name, "role:…", "channel:…", or { kind, … }',
    })
    .optional(),
});

export type Draft = z.input<typeof DraftSchema>;
export type CheckedDraft = z.output<typeof DraftSchema>;
export type PolicyInput = NonNullable<Draft["policy"]>;
export type SealedPolicy = NonNullable<Envelope["policy"]>;
export type Priority = (typeof PRIORITIES)[number];

export const CompiledDraftSchema = compileLazily(DraftSchema);
/** A draft that repeats parts of an envelope, with what nobody here knows in them. */
export const TolerantDraftSchema = toTolerantSchema(DraftSchema);

/** A draft whose payload is a `T`. */
export type DraftOf<T> = Omit<Draft, "payload"> & {
  readonly payload?: { readonly type: string; readonly data: T } | undefined;
};
