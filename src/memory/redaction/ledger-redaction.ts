/**
 * What a ledger repeats of handoffs that are redacted by their ids: it goes with them. The items stay,
 * so that a line still says that there was something, and who set it.
 */
import { canonicalJson } from "../../base/canonical.ts";
import type { EntryRow } from "../../store/rows.ts";
import { type KeptLedger, keptLedger, type Saying } from "../ledger.ts";
import type { Finding } from "./finding.ts";
import { MASK } from "./secret.ts";

/** What is about to go. */
export interface Gone {
  readonly envelopes: ReadonlySet<string>;
  readonly memories: ReadonlySet<string>;
}

export function ledgerFinding(row: EntryRow, gone: Gone): Finding | undefined {
  const value = canonicalJson(withoutGone(keptLedger(row), gone), "store_corrupt", row.name);
  if (value === row.value) return undefined;
  const { kind, name, revision: basedOn } = row;
  return { kind: "body", erase: () => [{ kind: "entry", entry: { kind, name, basedOn, value } }] };
}

function withoutGone(kept: KeptLedger, { envelopes, memories }: Gone): KeptLedger {
  const isGone = ({ envelope }: Saying): boolean => envelopes.has(envelope);
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
  said: T,
  memories: ReadonlySet<string>,
): T => (memories.has(said.record) ? { ...said, reason: MASK } : said);

/** The record of a closing goes with the one whose words it has. */
export const closingIn = (row: EntryRow, memories: ReadonlySet<string>): string | undefined => {
  const { closed } = keptLedger(row);
  return closed?.repeats !== undefined && memories.has(closed.repeats) ? closed.record : undefined;
};

/** The brief goes with the handoff the task began with, not with one that only passed it on. */
export const briefIn = (row: EntryRow, envelopes: ReadonlySet<string>): string | undefined => {
  const { begun, brief } = keptLedger(row);
  return envelopes.has(begun.envelope) ? brief : undefined;
};
