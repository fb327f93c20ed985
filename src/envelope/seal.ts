/**
 * Sealing: a checked draft and what the hub knows become an immutable envelope with a digest over
 * every field. From here on nothing changes it; an addition is another envelope with parents.
 */

import type { z } from "zod";
import { canonicalJson, sha256 } from "../canonical.ts";
import { checkLimit, type Limits } from "../limits.ts";
import { CompiledEnvelope, type DraftSchema, ENVELOPE_VERSION, type Envelope } from "./schema.ts";
import { parseOr } from "./violations.ts";

export interface SealedEnvelope {
  readonly envelope: Envelope;
  /** Canonical JSON: what is stored, hashed and sent. */
  readonly text: string;
  readonly digest: string;
}

type CheckedDraft = z.output<typeof DraftSchema>;

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
}

export function seal(draft: CheckedDraft, context: SealContext): SealedEnvelope {
  const { constraints, decisions, metadata, to: _to, refs: _refs, ...body } = draft;
  const envelope = parseOr(
    CompiledEnvelope,
    {
      ...body,
      constraints: constraints.map(constraintOf),
      decisions: decisions.map(decisionOf),
      from: context.from,
      hop: context.hop,
      id: context.id,
      metadata: { ...metadata, createdAt: context.createdAt },
      parents: context.parents,
      refs: context.refs,
      task: context.task,
      to: context.to,
      version: ENVELOPE_VERSION,
      workspace: context.workspace,
    },
    { code: "invalid_envelope", what: "The handoff" },
  );
  const free = [envelope.metadata, envelope.payload?.data ?? null];
  const text = canonicalJson(envelope, "invalid_envelope", "", free);
  checkLimit(context.limits, "envelopeBytes", { actual: Buffer.byteLength(text), path: "" });
  return { envelope, text, digest: sha256(text) };
}

/** An id made from the rule itself: the same rule keeps its id on every hop. */
function constraintOf(
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
