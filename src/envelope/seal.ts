/**
 * Sealing: turns a validated draft and the context of the hub into an immutable envelope with one digest
 * over all fields. A sealed envelope never changes; an addition is another envelope with parents.
 */

import { canonicalJson, sha256 } from "../base/digest.ts";
import { checkLimit, type Limits } from "../base/limits.ts";
import {
  type CheckedDraft,
  CompiledEnvelopeSchema,
  ENVELOPE_VERSION,
  type Envelope,
  TolerantEnvelopeSchema,
} from "./schema.ts";
import { unknownFields } from "./unknown-fields.ts";
import type { EnvelopeVersions } from "./versions.ts";
import { parseOrThrow } from "./violations.ts";

/** An envelope with its text and digest. */
export interface SealedEnvelope {
  readonly envelope: Envelope;
  /** Canonical JSON: the text that is stored, hashed and sent. */
  readonly text: string;
  /** SHA-256 of the text, in hex. */
  readonly digest: string;
}

/** The size limits, and the envelope version to write. */
export interface SealOptions {
  readonly limits: Limits;
  readonly versions: EnvelopeVersions;
}

/** The fields of a handoff that the hub sets, not the sender. */
export interface SealContext extends SealOptions {
  readonly id: string;
  readonly workspace: string;
  readonly task: string;
  readonly from: Envelope["from"];
  readonly to: Envelope["to"];
  readonly parents: readonly string[];
  readonly refs: Envelope["refs"];
  /** Optional references that could not be resolved. */
  readonly gaps?: readonly NonNullable<Envelope["gaps"]>[number][];
  /** Number of handoffs before this one on the line. */
  readonly hop: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Earlier handoffs of the line. */
  readonly path?: Envelope["path"];
  readonly policy?: Envelope["policy"];
  readonly joins?: Envelope["joins"];
  /** Fields that coordination sets. */
  readonly coordinated?: Pick<Envelope, "after" | "failure" | "queued">;
  /** Parts of the task's ledger, other than constraints and decisions. */
  readonly carried?: Pick<Envelope, "brief" | "flags" | "origin" | "released">;
  /**
   * Envelopes that this one continues. Their unknown fields are copied; if they differ, the last envelope
   * takes precedence.
   */
  readonly passesOn?: readonly (Partial<Envelope> | undefined)[];
}

/**
 * Seals a draft. Throws `invalid_envelope`, or `limit_exceeded` if the text is larger than `envelopeBytes`.
 */
export function seal(draft: CheckedDraft, context: SealContext): SealedEnvelope {
  const { artifacts, blocked, constraints, decisions, metadata, ...rest } = draft;
  const { to: _to, refs: _refs, delayMs: _delay, key: _key, policy: _policy, ...content } = rest;
  const { releases: _releases, ...body } = content;
  return sealFields(
    {
      ...collectUnknownFields(context.passesOn),
      ...body,
      ...context.carried,
      ...context.coordinated,
      artifacts: artifacts.map(artifactOf),
      blocked: blocked.map(blockedOf),
      constraints: constraints.map(constraintOf),
      decisions: decisions.map(decisionOf),
      from: context.from,
      ...(context.gaps?.length && { gaps: context.gaps }),
      hop: context.hop,
      id: context.id,
      ...(context.joins && { joins: context.joins }),
      metadata: { ...metadata, createdAt: context.createdAt },
      parents: context.parents,
      ...(context.path && { path: context.path }),
      ...(context.policy && { policy: context.policy }),
      refs: context.refs,
      task: context.task,
      to: context.to,
      version: ENVELOPE_VERSION,
      workspace: context.workspace,
    },
    context,
  );
}

function collectUnknownFields(passedOn: SealContext["passesOn"] = []): object {
  let unknown = {};
  for (const envelope of passedOn) {
    if (envelope !== undefined) unknown = { ...unknown, ...unknownFields(envelope) };
  }
  return unknown;
}

/** Seals an envelope that continues another: the same fields, except for `changes`. */
export function reseal(
  from: Envelope,
  changes: Partial<Envelope> & Pick<Envelope, "id" | "parents">,
  sealing: SealOptions,
): SealedEnvelope {
  return sealFields({ ...from, ...changes, version: ENVELOPE_VERSION }, sealing);
}

/** Drafts were validated strictly before; unknown fields here come from continued envelopes. */
function sealFields(written: object, { limits, versions }: SealOptions): SealedEnvelope {
  const strict = CompiledEnvelopeSchema.safeParse(written);
  const envelope = strict.success
    ? strict.data
    : parseOrThrow(TolerantEnvelopeSchema, written, {
        code: "invalid_envelope",
        what: "The handoff",
      });
  const text =
    strict.success && versions.writesOwnShape
      ? orderedText(envelope)
      : canonicalJson(versions.write(envelope), "invalid_envelope");
  checkLimit(limits, "envelopeBytes", { actual: Buffer.byteLength(text), path: "" });
  return { envelope, text, digest: sha256(text) };
}

/** The schema has sorted all keys except those of the free-form parts, so only those are checked. */
function orderedText(envelope: Envelope): string {
  const outputs = (envelope.results ?? []).map((result) => result.outputs ?? null);
  const free = [envelope.metadata, envelope.payload?.data ?? null, ...outputs];
  return canonicalJson(envelope, "invalid_envelope", "", free);
}

/** Expands the short form of an artifact: a path or a URL. */
export function artifactOf(
  artifact: CheckedDraft["artifacts"][number],
): Envelope["artifacts"][number] {
  if (typeof artifact !== "string") return artifact;
  return { kind: /^https?:\/\//.test(artifact) ? "url" : "file", path: artifact };
}

/** Expands the short form of a blocker: a text. */
export const blockedOf = (blocked: CheckedDraft["blocked"][number]): Envelope["blocked"][number] =>
  typeof blocked === "string" ? { what: blocked } : blocked;

/**
 * Expands the short form of a constraint. The id is derived from the rule, so that the same rule keeps its id
 * on every hop.
 */
export function constraintOf(
  constraint: CheckedDraft["constraints"][number],
): Envelope["constraints"][number] {
  const { id, level, ...given } =
    typeof constraint === "string"
      ? { rule: constraint, id: undefined, level: undefined }
      : constraint;
  return { ...given, id: id ?? `con-${sha256(given.rule).slice(0, 12)}`, level: level ?? "must" };
}

/** Expands the short form of a decision: its question. The id is derived from the question. */
export function decisionOf(
  decision: CheckedDraft["decisions"][number],
): Envelope["decisions"][number] {
  const { id, ...given } =
    typeof decision === "string" ? { question: decision, options: [], id: undefined } : decision;
  return { ...given, id: id ?? `dec-${sha256(given.question).slice(0, 12)}` };
}
