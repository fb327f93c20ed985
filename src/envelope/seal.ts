/**
 * Sealing: a checked draft and what the hub knows become an immutable envelope with a digest over
 * every field. From here on nothing changes it; an addition is another envelope with parents.
 */

import { canonicalJson, sha256 } from "../canonical.ts";
import { checkLimit, type Limits } from "../limits.ts";
import { type CheckedDraft, CompiledEnvelope, ENVELOPE_VERSION, type Envelope } from "./schema.ts";
import { parseOr } from "./violations.ts";

export interface SealedEnvelope {
  readonly envelope: Envelope;
  /** Canonical JSON: what is stored, hashed and sent. */
  readonly text: string;
  readonly digest: string;
}

/** What only the hub can say about a handoff. */
export interface SealContext {
  readonly id: string;
  readonly workspace: string;
  readonly task: string;
  readonly from: Envelope["from"];
  readonly to: Envelope["to"];
  readonly parents: readonly string[];
  readonly refs: Envelope["refs"];
  readonly hop: number;
  readonly createdAt: number;
  readonly limits: Limits;
  /** The handoffs before this one on its line. */
  readonly path?: Envelope["path"];
  readonly policy?: Envelope["policy"];
  readonly joins?: Envelope["joins"];
}

export function seal(draft: CheckedDraft, context: SealContext): SealedEnvelope {
  const { constraints, decisions, metadata, ...rest } = draft;
  const { to: _to, refs: _refs, delayMs: _delay, key: _key, policy: _policy, ...body } = rest;
  return sealed(
    {
      ...body,
      constraints: constraints.map(constraintOf),
      decisions: decisions.map(decisionOf),
      from: context.from,
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
    context.limits,
  );
}

/** An envelope that goes on from another: the same, but for what is said here. */
export function resealed(
  from: Envelope,
  changes: Partial<Envelope> & Pick<Envelope, "id" | "parents">,
  limits: Limits,
): SealedEnvelope {
  return sealed({ ...from, ...changes }, limits);
}

function sealed(written: object, limits: Limits): SealedEnvelope {
  const envelope = parseOr(CompiledEnvelope, written, {
    code: "invalid_envelope",
    what: "The handoff",
  });
  const outputs = (envelope.results ?? []).map((result) => result.outputs ?? null);
  const free = [envelope.metadata, envelope.payload?.data ?? null, ...outputs];
  const text = canonicalJson(envelope, "invalid_envelope", "", free);
  checkLimit(limits, "envelopeBytes", { actual: Buffer.byteLength(text), path: "" });
  return { envelope, text, digest: sha256(text) };
}

/** An id made from the rule itself: the same rule keeps its id on every hop. */
export function constraintOf(
  constraint: CheckedDraft["constraints"][number],
): Envelope["constraints"][number] {
  const { id, level, ...given } =
    typeof constraint === "string"
      ? { rule: constraint, id: undefined, level: undefined }
      : constraint;
  return { ...given, id: id ?? `con-${sha256(given.rule).slice(0, 12)}`, level: level ?? "must" };
}

function decisionOf(decision: CheckedDraft["decisions"][number]): Envelope["decisions"][number] {
  const { id, ...given } =
    typeof decision === "string" ? { question: decision, options: [], id: undefined } : decision;
  return { ...given, id: id ?? `dec-${sha256(given.question).slice(0, 12)}` };
}
