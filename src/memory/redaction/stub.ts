/**
 * Stubs: what stands where a body was. They keep what other rows and the delivery of work stand on (who,
 * when, which task, whom it named, what it did) and nothing that anybody wrote in free words. The salt
 * goes as well: without it the digest that stays cannot be used to guess what was there.
 *
 * An envelope's stub is an envelope: whoever gets it is told that it was redacted, by whom and why.
 */
import { canonicalJson } from "../../base/digest.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { dropUnknownFields, unknownParts } from "../../envelope/unknown-fields.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { Redaction } from "../../store/redaction.ts";
import { type EnvelopeRow, type MemoryRow, parseText } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { AuthoredRecord } from "../record.ts";

export function memoryStub(row: MemoryRow, redacted: Redaction): string {
  const record = parseText<AuthoredRecord>(row);
  return canonicalJson({ ...keptOfMemory(record), content: "", redacted }, "store_corrupt", row.id);
}

/** Tags of what was published are the hub's: by them a channel knows what was on it. */
function keptOfMemory(record: AuthoredRecord) {
  const { agent, createdAt, envelope, id, instance, key, refs, relations } = record;
  const { run, scope, session, task, trail, type, validFrom, validUntil } = record;
  const { user } = record as { readonly user?: string };
  const tags = trail?.some((step) => step.verb === "publish") ? record.tags : undefined;
  return {
    ...{ agent, createdAt, envelope, id, instance, key, refs, relations, run, scope, session },
    ...{ tags, task, trail, type, user, validFrom, validUntil },
  };
}

export function envelopeStub(
  workspace: Pick<Workspace, "versions">,
  row: EnvelopeRow,
  redacted: Redaction,
): string {
  const envelope = parseEnvelope(workspace, row);
  const { by, reason, record } = redacted;
  const stub = {
    ...keptOfEnvelope(envelope),
    ...{ artifacts: [], blocked: [], constraints: [], decisions: [], doNotRedo: [], done: [] },
    ...{ expects: [], history: [], next: [] },
    intent: `What was handed over here was redacted by ${by}: ${reason} (${record})`,
    redacted,
  } satisfies Envelope;
  return canonicalJson(workspace.versions.write(stub), "store_corrupt", row.id);
}

/** Of fields that are not known nobody can tell what is in them: none is kept. */
function keptOfEnvelope(sealed: Envelope) {
  const envelope = dropUnknownFields(sealed);
  const { action, from, hop, id, joins, parents, path, policy, priority, run } = envelope;
  const { task, to, version, workspace, refs, results, metadata } = envelope;
  return {
    ...{ action, from, hop, id, joins, parents, path, policy, priority, run },
    ...{ task, to, version, workspace },
    metadata: { createdAt: metadata.createdAt },
    refs: refs.map(({ digest, id: memory }) => ({ digest, id: memory })),
    // That there are results says that a join has opened.
    results: results?.map(({ outputs: _outputs, summary: _summary, ...result }) => result),
  };
}

/** What a stub does not have: the author's words, and what has keys of the author's own. */
export interface Body {
  readonly words: unknown;
  readonly free: unknown;
}

export function bodyOfMemory(record: AuthoredRecord): Body {
  const { content, data, concepts, tags } = record;
  const own = keptOfMemory(record).tags === undefined ? tags : undefined;
  const { redacted } = record as { readonly redacted?: Redaction };
  return { words: [content, concepts, own, redacted?.reason], free: data };
}

/** What a stub keeps that somebody chose the words of. */
export function namesOfMemory(record: AuthoredRecord): unknown {
  const { agent, instance, run, session, tags, task, type, user } = keptOfMemory(record);
  return [agent, instance, run, session, tags, task, type, user];
}

export function bodyOfEnvelope(envelope: Envelope): Body {
  const kept = new Set(Object.keys(keptOfEnvelope(envelope)));
  const { createdAt: _createdAt, ...metadata } = envelope.metadata;
  const rest = Object.entries(envelope).filter(([name]) => !kept.has(name) && name !== "payload");
  return {
    words: [
      ...rest.map(([, value]) => value),
      envelope.payload?.type,
      envelope.refs.map(({ summary }) => summary),
      envelope.results?.map(({ summary }) => summary),
    ],
    free: [
      envelope.payload?.data,
      metadata,
      envelope.results?.map(({ outputs }) => outputs),
      unknownParts(envelope),
    ],
  };
}

export function namesOfEnvelope(envelope: Envelope): unknown {
  const { action, from, policy, run, task, to, workspace } = keptOfEnvelope(envelope);
  return [action, from, policy?.fallback, run, task, to, workspace];
}
