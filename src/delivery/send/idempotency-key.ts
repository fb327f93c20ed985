/** Idempotency keys: sending again with the same key returns the original handoff, or a conflict. */

import { BatonError } from "../../base/errors.ts";
import { type LazyFindings, lintSent } from "../../context/lint/lint-sent.ts";
import type { AllLintRules, Repeat } from "../../context/lint/rule.ts";
import type { DetectedSecret } from "../../envelope/mask-secrets.ts";
import type { EnvelopeOf } from "../../envelope/schema.ts";
import type { SealedEnvelope } from "../../envelope/seal.ts";
import { KEY, type KeyValue, keyName } from "../../history/key-entry.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { digestOf } from "../../store/redaction.ts";
import type { DeliveryRow, EntryRow } from "../../store/rows.ts";
import type { PutEntry } from "../../store/store.ts";
import { entryValue, toEntryText } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { LinePath } from "../settings/line-path.ts";
import type { Plan, Sender } from "./plan.ts";

/** A handoff that was sent. */
export interface SentHandoff<T> {
  readonly kind: "sent";
  readonly envelope: EnvelopeOf<T>;
  /** SHA-256 of the envelope. */
  readonly digest: string;
  /** Id of the handoff record on the chain. */
  readonly memory: string;
  /** One per receiver. */
  readonly deliveries: readonly DeliveryRow[];
  /** "new", how it joined open work, or "repeated" if the same key was sent before. */
  readonly joined: "new" | "superseded" | "extended" | "repeated";
  /** If the line was here before with the same payload: the hops since then; otherwise empty. */
  readonly cycle: LinePath;
  /** Whether it was dead-lettered at once because the line exceeds the hop limit. */
  readonly stopped: boolean;
  /** The delivery it replaced; absent unless `joined` is "superseded". */
  readonly replaced?: DeliveryRow | undefined;
  /** Earlier handoffs that it repeats. */
  readonly repeats: readonly Repeat[];
  /** Lint findings, computed when they are read. */
  readonly lint: LazyFindings;
  /** Secrets that were redacted; absent if there were none. */
  readonly secrets?: readonly DetectedSecret[];
}

/** Returns the entry of the draft's key; undefined without a key or if it is new. */
export async function findKeyEntry(
  { store, name }: Workspace,
  sender: Sender,
  { draft }: Plan,
): Promise<EntryRow | undefined> {
  return draft.key === undefined
    ? undefined
    : store.findEntry(name, KEY, keyName(sender.agent, draft.key));
}

/** Returns the entry that maps a key to its handoff, written in the same operation. */
export function keyEntry(
  sender: Sender,
  { draft, body }: Plan,
  { envelope }: SealedEnvelope,
  deliveries: readonly string[],
): PutEntry {
  const value: KeyValue = { body, deliveries, envelope: envelope.id };
  const name = keyName(sender.agent, draft.key ?? "");
  return { kind: KEY, name, value: toEntryText(value), basedOn: 0 };
}

/**
 * Returns the handoff of a used key; throws `idempotency_conflict` if the key was used for a different one.
 */
export async function readOriginalHandoff<T>(
  workspace: Workspace,
  { draft, body }: Plan,
  { entry, rules }: { readonly entry: EntryRow | undefined; readonly rules: AllLintRules },
): Promise<SentHandoff<T>> {
  const before = entryValue<KeyValue>(entry);
  const ids = before?.body === body ? before.deliveries : [];
  const found = await Promise.all(
    ids.map((id) => workspace.store.findDelivery(workspace.name, id)),
  );
  const [first] = found;
  if (first === undefined) {
    throw new BatonError("idempotency_conflict", {
      message: `The key "${draft.key}" was already used for a different handoff.`,
      path: "key",
      hint: "Use a new key for new work; reuse a key only to send the same handoff again.",
      details: { key: draft.key },
    });
  }
  const envelope = parseEnvelope(workspace, first.envelope);
  return {
    kind: "sent",
    envelope: envelope as EnvelopeOf<T>,
    digest: digestOf(first.envelope),
    memory: first.envelope.memory,
    deliveries: found.flatMap((each) => each?.delivery ?? []),
    joined: "repeated",
    cycle: [],
    stopped: false,
    repeats: [],
    lint: lintSent(workspace, rules, envelope, []),
  };
}
