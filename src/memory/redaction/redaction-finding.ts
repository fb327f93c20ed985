/**
 * Determines what a redaction erases in one row: the body, its location, and what replaces it. Some bodies
 * are only erased together: a record that ended an attempt and the attempt's reason; for a handoff given by
 * id, the envelope and its record, which repeats the intent.
 */
import { canonicalJson, sha256 } from "../../base/digest.ts";
import { assertNever } from "../../base/errors.ts";
import { tryParseEnvelope } from "../../store/parse-envelope.ts";
import { prunePointsOf } from "../../store/pruning.ts";
import {
  type RedactedItem,
  type Redaction,
  redactedReason,
  redactionOf,
} from "../../store/redaction.ts";
import {
  type AgentRow,
  type AttemptRow,
  type DeliveryStep,
  type EntryRow,
  type EnvelopeRow,
  type MemoryRow,
  parseText,
} from "../../store/rows.ts";
import type { Erasure, TextOccurrence } from "../../store/store.ts";
import { AUDIT_BRANCH } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { AuthoredRecord } from "../record.ts";
import type { Secret } from "./secret.ts";
import {
  type Body,
  bodyOfEnvelope,
  bodyOfMemory,
  envelopeStub,
  memoryStub,
  namesOfEnvelope,
  namesOfMemory,
} from "./stub.ts";

/** A row that contains, or contained, something to erase. */
export interface RedactionLocation {
  readonly kind: TextOccurrence["kind"];
  /** `mem_…`, `env_…`; for an attempt its delivery and number, for an entry its kind and name. */
  readonly id: string;
}

/** Why a match was not erased. */
export type UnredactedReason =
  /** It was redacted earlier. */
  | "already"
  /** It is part of a name that other rows depend on: a task, an agent, a session. */
  | "name"
  /** It is a redaction, pruning or audit record, which verification relies on. */
  | "vouches"
  /** The row cannot be parsed; see `verify`. */
  | "damaged"
  /** The envelope has a version that this Baton cannot read; a newer Baton can redact it. */
  | "version";

/** A match that was not erased, and why. */
export interface UnredactedLocation extends RedactionLocation {
  readonly why: UnredactedReason;
}

/** The fields that all stubs of one redaction share. */
export type RedactionAttribution = Pick<Redaction, "at" | "by" | "reason" | "record">;

/** What to do about one row: erase a body, or leave it. */
export type RedactionFinding =
  | {
      readonly kind: "body";
      /** The stored text, if all of it is erased. */
      readonly text?: string;
      /** The intent, for an envelope. */
      readonly intent?: string;
      readonly erase: (mark: RedactionAttribution) => Erasure[];
    }
  | { readonly kind: "left"; readonly left: UnredactedLocation };

const unredactedFinding = (spot: RedactionLocation, why: UnredactedReason): RedactionFinding => ({
  kind: "left",
  left: { ...spot, why },
});

/**
 * Returns what the redaction record contains about an erasure, never the erased text. The id of a private
 * body is included, because verification must know which stub is legitimate.
 */
export function redactedOf(
  erasure: Erasure,
  isHidden: (spot: RedactionLocation) => boolean,
): RedactedItem {
  switch (erasure.kind) {
    case "memory":
    case "envelope": {
      const { digest, id, kind, text } = erasure;
      return { digest, id, kind, stub: sha256(text) };
    }
    default: {
      const spot = locationOf(erasure);
      const id = isHidden(spot) ? `sha256 ${sha256(spot.id)}` : spot.id;
      return { id, kind: spot.kind as "attempt" };
    }
  }
}

/** Returns the location of an erasure. */
export function locationOf(erasure: Erasure): RedactionLocation {
  switch (erasure.kind) {
    case "memory":
    case "envelope":
      return { kind: erasure.kind, id: erasure.id };
    case "attempt":
      return { kind: "attempt", id: `${erasure.delivery} ${erasure.attempt}` };
    case "entry":
      return { kind: "entry", id: `${erasure.entry.kind} ${erasure.entry.name}` };
    case "agent":
      return { kind: "agent", id: erasure.agent };
    default:
      return assertNever(erasure);
  }
}

/** Outcomes of attempts for which a record on the chain has the same reason and is erased with it. */
const OUTCOMES_WITH_RECORD: readonly AttemptRow["outcome"][] = ["failed", "declined", "asked"];
const ENDING: readonly DeliveryStep["verb"][] = ["fail", "decline", "ask"];

/** Returns what to do about a row that may contain the text; undefined if it does not. */
export async function findingOf(
  workspace: Workspace,
  secret: Secret,
  sighting: TextOccurrence,
): Promise<RedactionFinding | undefined> {
  switch (sighting.kind) {
    case "memory":
      return memoryFinding(workspace, sighting.row, secret);
    case "envelope":
      return envelopeFinding(workspace, sighting.row, secret);
    case "attempt":
      return attemptFinding(sighting.row, secret);
    case "entry":
      return entryFinding(sighting.row, secret);
    case "agent":
      return agentFinding(sighting.row, secret);
    default:
      return assertNever(sighting);
  }
}

/** Returns what to do about a memory. Without `secret`: regardless of its content. */
export async function memoryFinding(
  workspace: Workspace,
  row: MemoryRow,
  secret?: Secret,
): Promise<RedactionFinding | undefined> {
  const spot = { kind: "memory" as const, id: row.id };
  const record = tryParseText<AuthoredRecord>(row);
  if (record === undefined) return unredactedFinding(spot, "damaged");
  const where = secret && secretIn(secret, bodyOfMemory(record), namesOfMemory(record));
  if (secret !== undefined && where === undefined) return undefined;
  if (where === "name") return unredactedFinding(spot, "name");
  if (redactionOf(row) !== undefined) return unredactedFinding(spot, "already");
  const isAudit = row.branch === AUDIT_BRANCH;
  if (isAudit || record.redacts !== undefined || prunePointsOf(record).length > 0)
    return unredactedFinding(spot, "vouches");
  const attempts = await readEndedAttempts(workspace, record);
  const digest = sha256(row.text);
  return {
    kind: "body",
    text: row.text,
    erase: (mark) => [
      { ...spot, digest, text: memoryStub(row, { ...mark, digest, id: row.id }) },
      ...attempts.map((attempt) => reasonErasure(attempt, mark)),
    ],
  };
}

/** Reads the attempts that this record ended; the reason of each is the record's data. */
async function readEndedAttempts(
  { store, name }: Workspace,
  { trail = [] }: AuthoredRecord,
): Promise<AttemptRow[]> {
  const steps = trail.filter(
    (step): step is DeliveryStep => step.verb !== "publish" && ENDING.includes(step.verb),
  );
  const found = await Promise.all(
    steps.map(async ({ delivery, attempt }) => {
      const attempts = await store.readAttempts(name, delivery);
      return attempts.find((each) => each.attempt === attempt);
    }),
  );
  return found.filter((attempt) => attempt !== undefined);
}

/** Returns what to do about an envelope. Without `secret`: regardless of its content. */
export function envelopeFinding(
  workspace: Workspace,
  row: EnvelopeRow,
  secret?: Secret,
): RedactionFinding | undefined {
  const spot = { kind: "envelope" as const, id: row.id };
  const envelope = tryParseEnvelope(workspace, row);
  if (envelope === undefined) {
    return unredactedFinding(
      spot,
      tryParseText<unknown>(row) === undefined ? "damaged" : "version",
    );
  }
  const where = secret && secretIn(secret, bodyOfEnvelope(envelope), namesOfEnvelope(envelope));
  if (secret !== undefined && where === undefined) return undefined;
  if (where === "name") return unredactedFinding(spot, "name");
  if (redactionOf(row) !== undefined) return unredactedFinding(spot, "already");
  const digest = sha256(row.text);
  return {
    kind: "body",
    text: row.text,
    intent: envelope.intent,
    erase: (mark) => [
      { ...spot, digest, text: envelopeStub(workspace, row, { ...mark, digest, id: row.id }) },
    ],
  };
}

type SecretPosition = "body" | "name" | undefined;

function secretIn(secret: Secret, { words, free }: Body, names: unknown): SecretPosition {
  if (secret.isIn(words) || secret.isIn(free, { keys: true })) return "body";
  return secret.isIn(names) ? "name" : undefined;
}

/** Parses a row; undefined if it is damaged. */
export function tryParseText<T>(row: {
  readonly id: string;
  readonly text: string;
}): T | undefined {
  try {
    return parseText<T>(row);
  } catch {
    return undefined;
  }
}

function attemptFinding(row: AttemptRow, secret: Secret): RedactionFinding | undefined {
  if (OUTCOMES_WITH_RECORD.includes(row.outcome)) return undefined;
  const spot = { kind: "attempt" as const, id: `${row.delivery} ${row.attempt}` };
  const reason = tryParseText<unknown>({ id: spot.id, text: row.reason });
  if (reason === undefined) return unredactedFinding(spot, "damaged");
  if (!secret.isIn(reason, { keys: true })) return undefined;
  return { kind: "body", erase: (mark) => [reasonErasure(row, mark)] };
}

function reasonErasure(
  { delivery, attempt, reason }: AttemptRow,
  { record }: RedactionAttribution,
): Erasure {
  const digest = sha256(reason);
  return { kind: "attempt", delivery, attempt, digest, reason: redactedReason(record) };
}

/** Masks only the text itself, because hubs rely on the rest of the entry. */
function entryFinding(row: EntryRow, secret: Secret): RedactionFinding | undefined {
  const { kind, name, revision: basedOn } = row;
  const spot = { kind: "entry" as const, id: `${kind} ${name}` };
  const value = tryParseText<unknown>({ id: spot.id, text: row.value });
  if (value === undefined) return unredactedFinding(spot, "damaged");
  const masked = withoutSecret(value, secret);
  if (masked === undefined) return secret.isIn(name) ? unredactedFinding(spot, "name") : undefined;
  const entry = { kind, name, basedOn, value: canonicalJson(masked, "store_corrupt", spot.id) };
  return { kind: "body", erase: () => [{ kind: "entry", entry }] };
}

/** Masks a value; undefined if it does not match. Keys of an effect's `result` are user data too. */
function withoutSecret(value: unknown, secret: Secret): unknown {
  const { result, ...ours } = (value ?? {}) as { readonly result?: unknown };
  if (!secret.isIn(ours) && !secret.isIn(result, { keys: true })) return undefined;
  const masked = secret.masked(ours) as object;
  return result === undefined
    ? masked
    : { ...masked, result: secret.masked(result, { keys: true }) };
}

function agentFinding(row: AgentRow, secret: Secret): RedactionFinding | undefined {
  const spot = { kind: "agent" as const, id: row.id };
  const described = tryParseText<unknown>({ id: spot.id, text: row.profile });
  if (described === undefined) return unredactedFinding(spot, "damaged");
  const names = [row.id, row.aliases, row.role];
  if (!secret.isIn(described))
    return secret.isIn(names) ? unredactedFinding(spot, "name") : undefined;
  const profile = canonicalJson(secret.masked(described), "store_corrupt", spot.id);
  const erasure = { kind: "agent" as const, agent: row.id, basedOn: row.revision, profile };
  return { kind: "body", erase: () => [erasure] };
}
