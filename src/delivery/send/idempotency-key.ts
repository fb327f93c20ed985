/** Idempotency keys: the same key of a sender again is the same handoff, or a conflict. */

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

export interface SentHandoff<T> {
  readonly kind: "sent";
  readonly envelope: EnvelopeOf<T>;
  readonly digest: string;
  /** The handoff record on the chain. */
  readonly memory: string;
  /** One for each receiver. */
  readonly deliveries: readonly DeliveryRow[];
  /** "new", how it joined an open piece of work, or that the same key was sent before. */
  readonly joined: "new" | "superseded" | "extended" | "repeated";
  /** The line came here before with the same payload: the handoffs since then. */
  readonly cycle: LinePath;
  /** It was parked at once: the line is longer than it may be. */
  readonly stopped: boolean;
  /** What it took the place of. */
  readonly replaced?: DeliveryRow | undefined;
  /** Earlier handoffs it repeats. */
  readonly repeats: readonly Repeat[];
  readonly lint: LazyFindings;
  /** Which secrets were taken out of it, where there were any. */
  readonly secrets?: readonly DetectedSecret[];
}

export async function findKeyEntry(
  { store, name }: Workspace,
  sender: Sender,
  { draft }: Plan,
): Promise<EntryRow | undefined> {
  return draft.key === undefined
    ? undefined
    : store.findEntry(name, KEY, keyName(sender.agent, draft.key));
}

/** Written with the handoff: what its key stands for. */
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

/** The key was used before: for this very handoff, which is what the sender gets again, or not. */
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
      message: `The key "${draft.key}" was used before, for another handoff.`,
      path: "key",
      hint: "Use a new key for new work; the same key is for sending the same again.",
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
