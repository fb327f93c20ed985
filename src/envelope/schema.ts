/**
 * The envelope: the only definition of what a handoff carries. Types, the JSON Schema, the
 * sender's draft and the validation all come from here.
 *
 * Keys are declared in sorted order, so that the canonical text of a parsed envelope needs no
 * sorting. A list field that is missing is an empty list: a reader never has to ask.
 */
import * as z from "zod";
import { idPattern } from "../ids.ts";
import { FORMAT_LIMITS } from "../limits.ts";

export const ENVELOPE_VERSION = "1.0";

/** Names people give: agents, roles, tasks, runs, channels, workspaces, payload types. */
export const NamePattern = /^[\p{L}\p{N}](?:[\p{L}\p{N} ._/@#+-]*[\p{L}\p{N}._/@#+-])?$/u;

export const Name = z
  .string()
  .min(1)
  .max(FORMAT_LIMITS.nameLength)
  .regex(NamePattern, { error: "must be a name: letters, digits, spaces and . _ / @ # + -" })
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
const Fraction = z.number().min(0).max(1);
const Slug = z
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
const EnvelopeId = z
  .string()
  .regex(idPattern("envelope"), { error: "must be an envelope id (env_…)" });

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

const Blocked = z.strictObject({ on: Line.optional(), what: Line });

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

const Reference = z.strictObject({
  digest: Digest.meta({ description: "The record's digest when it was sent" }),
  id: MemoryId,
  summary: Text.optional().meta({ description: "The sender's own summary" }),
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
    artifacts: list(Artifact),
    blocked: list(Blocked).meta({ description: "What waits, and on what" }),
    constraints: list(Constraint),
    decisions: list(Decision).meta({ description: "Questions that are still open" }),
    doNotRedo: Lines.default([]),
    done: Lines.default([]),
    expects: list(ExpectedOutput),
    from: Sender,
    history: list(HistoryEntry).meta({ description: "Who did what, what was decided, and why" }),
    hop: z.int().min(0).meta({ description: "Handoffs before this one on the task's line" }),
    id: EnvelopeId,
    intent: Text.meta({ description: "What the user originally wanted, verbatim" }),
    metadata: Metadata,
    next: Lines.default([]).meta({ description: "What the receiver is to do" }),
    parents: z.array(EnvelopeId).max(FORMAT_LIMITS.parents).default([]),
    payload: Payload.optional(),
    refs: z.array(Reference).max(FORMAT_LIMITS.references).default([]),
    run: Name.optional(),
    state: Text.optional().meta({ description: "Where the task stands" }),
    task: Name,
    to: Receiver,
    version: z.literal(ENVELOPE_VERSION),
    workspace: Name,
  })
  .meta({
    title: "Baton envelope",
    description: "One handoff of a task from one agent to the next: immutable once sent.",
  });

export type Envelope = z.infer<typeof EnvelopeSchema>;

/** The same schema, compiled: 1.5 µs an envelope instead of 7. For parsing only. */
export const CompiledEnvelope = z.compile(EnvelopeSchema);

/** An envelope whose payload is known to be a `T`. */
export type EnvelopeOf<T> = Omit<Envelope, "payload"> & {
  readonly payload?: { readonly type: string; readonly data: T } | undefined;
};

/** `"coder"`, `"role:reviewer"` or `"channel:news"`; undefined when it is no address. */
export function receiverOf(address: string): Envelope["to"] | undefined {
  const colon = address.indexOf(":");
  const kind = colon < 0 ? "agent" : address.slice(0, colon);
  return Receiver.safeParse({ kind, [kind]: address.slice(colon + 1) }).data;
}

const Address = z.string().refine((address) => receiverOf(address) !== undefined, {
  error: "is not an address",
  params: {
    rule: "receiver",
    hint: 'Write an agent\'s name, "role:<role>" or "channel:<channel>".',
  },
});

/**
 * What a sender writes. The same fields, with the short forms people like to type; everything the
 * hub knows better (ids, sender, version, digests, hop) is not theirs to say.
 */
export const DraftSchema = z.strictObject({
  ...EnvelopeSchema.pick({
    artifacts: true,
    blocked: true,
    doNotRedo: true,
    done: true,
    expects: true,
    history: true,
    next: true,
    payload: true,
    run: true,
    state: true,
  }).shape,
  action: EnvelopeSchema.shape.action.default("delegated"),
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
  intent: Text,
  // Through a record first: an object schema alone takes a Map for an empty object.
  metadata: FreeForm.pipe(Metadata.omit({ createdAt: true })).optional(),
  parents: z.array(EnvelopeId).max(FORMAT_LIMITS.parents).optional(),
  refs: z
    .array(
      z.union([MemoryId, Reference.omit({ digest: true })], {
        error: "must be a memory id (mem_…), or { id, summary }",
      }),
    )
    .max(FORMAT_LIMITS.references)
    .default([]),
  task: Name.optional(),
  to: z.union([Address, Receiver], {
    error: 'must be an agent\'s name, "role:…", "channel:…", or { kind, … }',
  }),
});

export type Draft = z.input<typeof DraftSchema>;

export const CompiledDraft = z.compile(DraftSchema);

/** A draft whose payload is a `T`. */
export type DraftOf<T> = Omit<Draft, "payload"> & {
  readonly payload?: { readonly type: string; readonly data: T } | undefined;
};
