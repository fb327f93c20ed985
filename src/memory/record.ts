/**
 * A memory as agents write it, and the digest that fixes every field of it.
 *
 * The author's side makes id, salt, time and digest (and signs the digest when the agent has a
 * key); the store adds place, time of storing and link. Nothing an author said can change without
 * the digest changing, and nothing can be moved without the link changing.
 */
import * as z from "zod";
import { canonicalJson, sha256 } from "../canonical.ts";
import { FreeForm, MemoryId, Name } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { BatonError } from "../errors.ts";
import type { Ids } from "../ids.ts";
import type { Signer } from "../keys.ts";
import { checkLimit, FORMAT_LIMITS, type Limits } from "../limits.ts";
import type { MemoryRow, NewMemory } from "../store/rows.ts";
import type { Place } from "../store/store.ts";

/** The types agents really use. Any other lower-case word is fine too. */
export const MEMORY_TYPES = [
  "finding",
  "fact",
  "decision",
  "constraint",
  "convention",
  "plan",
  "step",
  "question",
  "lesson",
  "mistake",
  "summary",
  "checkpoint",
  "handoff",
  "action",
  "artifact",
] as const;

export const RELATION_KINDS = [
  "continues-from",
  "summarizes",
  "supersedes",
  "corrects",
  "contradicts",
  "supports",
  "derived-from",
  "caused-by",
  "references",
  "branches-from",
] as const;

export type RelationKind = (typeof RELATION_KINDS)[number];

const Fraction = z.number().min(0).max(1);
const Instant = z.int().min(0);
const Label = z.string().min(1).max(FORMAT_LIMITS.nameLength);

const Relation = z
  .strictObject({
    from: Instant.optional(),
    kind: z.enum(RELATION_KINDS),
    to: MemoryId,
    until: Instant.optional(),
  })
  .refine((relation) => (relation.from ?? 0) <= (relation.until ?? Number.MAX_SAFE_INTEGER), {
    error: "ends before it begins",
    path: ["until"],
  });

const TypeName = z
  .string()
  .max(FORMAT_LIMITS.nameLength)
  .regex(/^[a-z][a-z0-9_-]*$/, { error: "must be a lower-case word such as finding" });

/** What `remember` takes. Keys in sorted order: they are written as they stand. */
export const MemoryInputSchema = z.strictObject({
  concepts: z.array(Label).max(FORMAT_LIMITS.tags).optional(),
  confidence: Fraction.optional(),
  content: z.string().min(1).max(FORMAT_LIMITS.contentLength),
  data: FreeForm.optional(),
  /** Given by callers that retry, or whose records of one call mention each other. */
  id: MemoryId.optional(),
  importance: Fraction.optional(),
  refs: z.array(MemoryId).max(FORMAT_LIMITS.references).optional(),
  relations: z.array(Relation).max(FORMAT_LIMITS.relations).optional(),
  run: Name.optional(),
  scope: z.enum(["agent", "session", "user", "team"]).default("team"),
  session: Name.optional(),
  tags: z.array(Label).max(FORMAT_LIMITS.tags).optional(),
  task: Name.optional(),
  type: TypeName.default("fact"),
  /** When it is true, as opposed to when it was written down. */
  validFrom: Instant.optional(),
  validUntil: Instant.optional(),
});

export type MemoryInput = z.input<typeof MemoryInputSchema>;
type CheckedInput = z.output<typeof MemoryInputSchema>;

/** Every author field: exactly what the digest covers. */
export type AuthoredRecord = Omit<CheckedInput, "id" | "session"> & {
  readonly agent: string;
  readonly createdAt: number;
  readonly id: string;
  readonly instance: string;
  readonly salt: string;
  readonly session: string;
};

/** A memory as it is read back: the author's fields and its place on the chain. */
export interface Memory extends AuthoredRecord {
  readonly branch: string;
  readonly seq: number;
  readonly storedAt: number;
  readonly digest: string;
  readonly link: string;
  readonly signature: string;
}

export interface Author {
  readonly agent: string;
  readonly instance: string;
  readonly signer?: Signer | undefined;
}

export interface Pen {
  readonly ids: Ids;
  readonly now: number;
  readonly limits: Limits;
}

/** Checks an input and turns it into a record ready to be stored. */
export function writeRecord(author: Author, input: unknown, pen: Pen, path = ""): NewMemory {
  const checked = parseOr(MemoryInputSchema, input, {
    code: "invalid_memory",
    what: "The memory",
    prefix: path,
  });
  return recordOf(author, checked, pen, path);
}

function recordOf(author: Author, input: CheckedInput, pen: Pen, path: string): NewMemory {
  const id = input.id ?? pen.ids.mint("memory");
  const session = input.session ?? author.instance;
  const record: AuthoredRecord = {
    ...input,
    agent: author.agent,
    createdAt: pen.now,
    id,
    instance: author.instance,
    salt: pen.ids.salt(),
    session,
  };
  const text = canonicalJson(record, "invalid_memory", path);
  checkLimit(pen.limits, "memoryBytes", { actual: Buffer.byteLength(text), path });
  const digest = sha256(text);
  const relations = input.relations ?? [];
  return {
    id,
    agent: author.agent,
    instance: author.instance,
    task: input.task ?? "",
    session,
    type: input.type,
    tags: input.tags ?? [],
    text,
    digest,
    signature: author.signer?.sign(digest) ?? "",
    publicKey: author.signer?.publicKey ?? "",
    mentions: [...(input.refs ?? []), ...relations.map((relation) => relation.to)],
    relations: relations.map(({ kind, to, from, until }) => ({
      kind,
      target: to,
      validFrom: from ?? 0,
      validUntil: until ?? 0,
    })),
  };
}

/** Reads a stored row back. */
export function memoryOf(row: MemoryRow): Memory {
  const authored = JSON.parse(row.text) as AuthoredRecord;
  return {
    ...authored,
    ...placeOf(row),
    branch: row.branch,
    digest: row.digest,
    signature: row.signature,
  };
}

const placeOf = (place: Place) => ({ seq: place.seq, storedAt: place.storedAt, link: place.link });

/** The memory that was just appended, without reading it again. */
export function placedMemory(record: NewMemory, place: Place, branch: string): Memory {
  const { id, agent, task, session, type, text, digest, signature } = record;
  return memoryOf({ ...place, id, branch, agent, task, session, type, text, digest, signature });
}

export function parseMemoryId(id: unknown, path: string): string {
  const parsed = MemoryId.safeParse(id);
  if (parsed.success) return parsed.data;
  throw new BatonError("invalid_input", {
    message: `${path} must be a memory id.`,
    path,
    hint: "Memory ids look like mem_0190a5c2-….",
  });
}
