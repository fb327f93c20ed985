/**
 * Connects one handoff with its task's ledger: reads what the handoff needs before it is sealed, then
 * computes what the envelope carries and what is written back. A caller that loses the compare-and-set to
 * another writer of the same task starts again from the read.
 */

import { FORMAT_LIMITS } from "../base/limits.ts";
import type { CheckedDraft, Envelope } from "../envelope/schema.ts";
import type { Author } from "../memory/record.ts";
import type { Provenance, StoredQueueState } from "../memory/stored-ledger.ts";
import type { PutEntry } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { type IntentWithBrief, isLongIntent, storeLongIntent } from "./brief.ts";
import { type CarriedItems, type CheckedRelease, carry, refuseTooMany } from "./carry.ts";
import { flagsOf } from "./flags.ts";
import type { LedgerIntent, ResolvedLedger } from "./ledger.ts";
import { intentsOf, ledgerEntry, originOf } from "./ledger-entry.ts";
import { checkReleases } from "./release-check.ts";

/** The sending agent, and the work it continues, if any. */
interface HandoffSender extends Author {
  readonly role?: string | undefined;
  readonly work?: { readonly envelope: Envelope };
}

/** The parts of an unsealed handoff that concern the ledger. */
interface PlannedHandoff {
  readonly draft: CheckedDraft;
  readonly task: string;
  readonly family: ResolvedLedger;
  readonly refs: Envelope["refs"];
  /** `bare`: the envelope carries nothing from the ledger. */
  readonly sending: { readonly bare?: boolean | undefined };
}

/** What a handoff needs from its task's ledger. */
export interface HandoffLedger {
  readonly family: ResolvedLedger;
  readonly intents: readonly LedgerIntent[];
  readonly releases: readonly CheckedRelease[];
  readonly briefed: IntentWithBrief;
}

/**
 * Reads the intents, checks the releases and stores a long intent, unless it is already `stored`. Throws what
 * checkReleases() throws.
 */
export async function readHandoffLedger(
  workspace: Workspace,
  sender: HandoffSender,
  plan: Pick<PlannedHandoff, "draft" | "task" | "family">,
  stored?: IntentWithBrief,
): Promise<HandoffLedger> {
  const { draft, family } = plan;
  const intents = intentsOf(family);
  const releaser = {
    ...sender,
    isOnLine: sender.work !== undefined,
    pathOf: (i: number) => `releases[${i}]`,
  };
  const releases =
    draft.releases.length === 0
      ? []
      : await checkReleases(workspace, releaser, family, draft.releases);
  return {
    family,
    intents,
    releases,
    briefed:
      stored !== undefined && isLongIntent(draft)
        ? stored
        : await storeLongIntent(workspace, sender, plan, intents),
  };
}

/** The draft as it is sealed: with carried items, references and ledger notes. */
export interface HandoffContent {
  readonly draft: CheckedDraft;
  readonly refs: Envelope["refs"];
  readonly said: Pick<Envelope, "brief" | "flags" | "origin" | "released">;
  readonly carried: CarriedItems;
}

/**
 * Merges the draft with the ledger. `before`: the envelope that is continued or added to. Throws
 * `limit_exceeded` if a list becomes longer than an envelope allows.
 */
export function handoffContentOf(
  { family, intents, releases, briefed: { intent, brief, refs } }: HandoffLedger,
  { draft, refs: own, sending }: Pick<PlannedHandoff, "draft" | "refs" | "sending">,
  by: string,
  before: Envelope | undefined,
): HandoffContent {
  const carried = carry(family, { ...draft, releases }, before);
  if (sending.bare) return { draft, refs: own, said: {}, carried };
  refuseTooMany(carried, family);
  const flags = flagsOf(family, carried, draft, before);
  const origin = originOf(intents, intent);
  const released = releases.map(({ id, reason, decided }) => ({
    by,
    ...(decided === undefined ? {} : { decided }),
    id,
    reason,
  }));
  const named = new Set(own.map(({ id }) => id));
  const { constraints, decisions } = carried;
  return {
    draft: { ...draft, intent, constraints, decisions },
    refs: [...own, ...refs.filter(({ id }) => !named.has(id))].slice(0, FORMAT_LIMITS.references),
    said: {
      ...(brief === undefined ? {} : { brief }),
      ...(flags.length > 0 && { flags }),
      ...(origin === undefined ? {} : { origin }),
      ...(released.length > 0 && { released }),
    },
    carried,
  };
}

/** Returns the ledger entry to write with a handoff; undefined if nothing changes. */
export function handoffLedgerEntry(
  { family, releases, briefed: { intent, brief } }: HandoffLedger,
  { carried }: HandoffContent,
  said: Provenance & { readonly record: string },
  queue?: StoredQueueState | undefined,
): PutEntry | undefined {
  const beginning = { begun: said, intent, ...(brief === undefined ? {} : { brief }) };
  return ledgerEntry({ family, beginning, carried, releases, queue }, said);
}
