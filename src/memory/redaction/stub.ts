/**
 * Builds the stub that replaces a redacted body. It keeps what other rows and deliveries depend on (author,
 * time, task, references, what it did) and no free text. The salt is removed too: without it the remaining
 * digest cannot be used to guess the text.
 *
 * The stub of an envelope is an envelope: its intent states that it was redacted, by which agent and why.
 */
import { canonicalJson } from "../../base/digest.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { dropUnknownFields, unknownParts } from "../../envelope/unknown-fields.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { Redaction } from "../../store/redaction.ts";
import { type EnvelopeRow, type MemoryRow, parseText } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { AuthoredRecord } from "../record.ts";

/** Returns the text of a memory's stub. */
export function memoryStub(row: MemoryRow, redacted: Redaction): string {
  const record = parseText<AuthoredRecord>(row);
  return canonicalJson({ ...keptOfMemory(record), content: "", redacted }, "store_corrupt", row.id);
}

/** Returns the fields that stay. Tags of a handoff stay, because the hub sets them and channels use them. */
function keptOfMemory(record: AuthoredRecord) {
  const { agent, createdAt, envelope, id, instance, key, refs, relations } = record;
  const { run, scope, session, task, trail, type, validFrom, validUntil } = record;
  const { user, witness } = record;
  const tags = trail?.some((step) => step.verb === "publish") ? record.tags : undefined;
  return {
    ...{ agent, createdAt, envelope, id, instance, key, refs, relations, run, scope, session },
    ...{ tags, task, trail, type, user, validFrom, validUntil, witness },
  };
}

/** Returns the text of an envelope's stub. */
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
    intent: `This handoff was redacted by ${by}: ${reason} (${record})`,
    redacted,
  } satisfies Envelope;
  return canonicalJson(workspace.versions.write(stub), "store_corrupt", row.id);
}

/** Returns the fields that stay. Unknown fields are removed, because their content cannot be judged. */
function keptOfEnvelope(sealed: Envelope) {
  const envelope = dropUnknownFields(sealed);
  const { action, from, hop, id, joins, parents, path, policy, priority, run } = envelope;
  const { task, to, version, workspace, refs, results, metadata } = envelope;
  return {
    ...{ action, from, hop, id, joins, parents, path, policy, priority, run },
    ...{ task, to, version, workspace },
    metadata: { createdAt: metadata.createdAt },
    refs: refs.map(({ digest, id: memory }) => ({ digest, id: memory })),
    // Results stay, without their content, because they show that a join has opened.
    results: results?.map(({ outputs: _outputs, summary: _summary, ...result }) => result),
  };
}

/** The parts of a record that a stub does not keep: texts, and values with keys chosen by the author. */
export interface Body {
  readonly words: unknown;
  readonly free: unknown;
}

/** Returns what redaction erases of a memory. */
export function bodyOfMemory(record: AuthoredRecord): Body {
  const { content, data, concepts, tags } = record;
  const own = keptOfMemory(record).tags === undefined ? tags : undefined;
  const { redacted } = record as { readonly redacted?: Redaction };
  return { words: [content, concepts, own, redacted?.reason], free: data };
}

/** Returns the names that stay in a memory's stub, and that an agent or person chose. */
export function namesOfMemory(record: AuthoredRecord): unknown {
  const { agent, instance, run, session, tags, task, type, user } = keptOfMemory(record);
  return [agent, instance, run, session, tags, task, type, user];
}

/** Returns what redaction erases of an envelope. */
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

/** Returns the names that stay in an envelope's stub, and that an agent or person chose. */
export function namesOfEnvelope(envelope: Envelope): unknown {
  const { action, from, policy, run, task, to, workspace } = keptOfEnvelope(envelope);
  return [action, from, policy?.fallback, run, task, to, workspace];
}
