/**
 * Masks the texts that a task's ledger repeats from redacted handoffs. The items stay, so that the line still
 * shows that they existed and which agent set them.
 */
import { canonicalJson } from "../../base/digest.ts";
import type { EntryRow } from "../../store/rows.ts";
import { type Provenance, type StoredLedger, storedLedgerOf } from "../stored-ledger.ts";
import type { RedactionFinding } from "./redaction-finding.ts";
import { MASK } from "./secret.ts";

/** The envelopes and memories that are being redacted. */
export interface RedactedIds {
  readonly envelopes: ReadonlySet<string>;
  readonly memories: ReadonlySet<string>;
}

/** Returns what to erase in a ledger entry; undefined if it repeats nothing. */
export function ledgerFinding(row: EntryRow, gone: RedactedIds): RedactionFinding | undefined {
  const value = canonicalJson(maskRedacted(storedLedgerOf(row), gone), "store_corrupt", row.name);
  if (value === row.value) return undefined;
  const { kind, name, revision: basedOn } = row;
  return { kind: "body", erase: () => [{ kind: "entry", entry: { kind, name, basedOn, value } }] };
}

function maskRedacted(kept: StoredLedger, { envelopes, memories }: RedactedIds): StoredLedger {
  const isGone = ({ envelope }: Provenance): boolean => envelopes.has(envelope);
  const texts = new Set([
    ...kept.constraints.filter(isGone).map(({ rule }) => rule),
    ...kept.decisions.filter(isGone).map(({ question }) => question),
  ]);
  return {
    ...kept,
    ...(kept.closed && { closed: withoutReason(kept.closed, memories) }),
    ...(kept.reopened && { reopened: withoutReason(kept.reopened, memories) }),
    intent: isGone(kept.begun) ? MASK : kept.intent,
    constraints: kept.constraints.map((each) =>
      isGone(each) ? { ...each, rule: MASK, ...(each.source && { source: MASK }) } : each,
    ),
    decisions: kept.decisions.map((each) =>
      isGone(each) ? { ...each, question: MASK, options: [] } : each,
    ),
    released: kept.released.map((each) => ({
      ...each,
      ...(memories.has(each.record) && {
        reason: MASK,
        ...(each.decided && { decided: MASK }),
      }),
      ...(texts.has(each.said) && { said: MASK }),
    })),
  };
}

const withoutReason = <T extends { readonly reason: string; readonly record: string }>(
  item: T,
  memories: ReadonlySet<string>,
): T => (memories.has(item.record) ? { ...item, reason: MASK } : item);

/** Returns the record of a closing to redact, if its reason was copied from a redacted memory. */
export const closingRecordOf = (
  row: EntryRow,
  memories: ReadonlySet<string>,
): string | undefined => {
  const { closed } = storedLedgerOf(row);
  return closed?.repeats !== undefined && memories.has(closed.repeats) ? closed.record : undefined;
};

/** Returns the brief to redact: with the handoff that started the task, not with one that passed it on. */
export const briefRecordOf = (
  row: EntryRow,
  envelopes: ReadonlySet<string>,
): string | undefined => {
  const { begun, brief } = storedLedgerOf(row);
  return envelopes.has(begun.envelope) ? brief : undefined;
};
