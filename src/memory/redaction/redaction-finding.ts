/**
 * What redacting would take away: a body, where it is, and what stands there afterwards. Some go only
 * together: a record that ended a try and what the try says of why; of a handoff named by its id, the
 * envelope and its record, which repeats what was wanted.
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

/** A place that has, or had, something to take away. */
export interface RedactionLocation {
  readonly kind: TextOccurrence["kind"];
  /** `mem_…`, `env_…`; of a try its delivery and number, of an entry its kind and name. */
  readonly id: string;
}

/** Why something was found and not erased. */
export type UnredactedReason =
  /** It was redacted before. */
  | "already"
  /** Part of a name that other rows stand on: a task, an agent, a session. */
  | "name"
  /** A redaction or pruning record: others are believed because of it. */
  | "vouches"
  /** It cannot be read; see `verify`. */
  | "damaged"
  /** An envelope of a version that this Baton cannot read: a newer one can redact it. */
  | "version";

export interface UnredactedLocation extends RedactionLocation {
  readonly why: UnredactedReason;
}

/** What all stubs of one redaction say. */
export type RedactionAttribution = Pick<Redaction, "at" | "by" | "reason" | "record">;

export type RedactionFinding =
  | {
      readonly kind: "body";
      /** What is stored there now, where all of it goes. */
      readonly text?: string;
      /** What an envelope was sent for. */
      readonly intent?: string;
      readonly erase: (mark: RedactionAttribution) => Erasure[];
    }
  | { readonly kind: "left"; readonly left: UnredactedLocation };

const unredactedFinding = (spot: RedactionLocation, why: UnredactedReason): RedactionFinding => ({
  kind: "left",
  left: { ...spot, why },
});

/**
 * What a record vouches for, of an erasure. Never a text that may be what has to go; of a body that is
 * private to somebody its id all the same, since without it nobody could tell which stub is believed.
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

/** Tries whose record on the chain says the same, and goes with them. */
const OUTCOMES_WITH_RECORD: readonly AttemptRow["outcome"][] = ["failed", "declined", "asked"];
const ENDING: readonly DeliveryStep["verb"][] = ["fail", "decline", "ask"];

/** What is to be done about a row that has the text somewhere; nothing, where it only looks like it. */
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

/** Without a secret: whatever it says. */
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
  if (record.redacts !== undefined || prunePointsOf(record).length > 0)
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

/** The tries this record ended: each has the record's data as its reason. */
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

/** Only the text itself goes: an entry is a fact that hubs work with. */
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

/** What an effect has come to has keys of its own; all others are ours. Undefined: it is not there. */
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
