/**
 * The ledger and one handoff: what the handoff has to know of it before it is sealed, and what it then
 * says and adds. Read again whenever somebody else on the task was quicker to change it.
 */

import { FORMAT_LIMITS } from "../base/limits.ts";
import type { CheckedDraft, Envelope } from "../envelope/schema.ts";
import type { Author } from "../memory/record.ts";
import type { Provenance, StoredQueueState } from "../memory/stored-ledger.ts";
import type { PutEntry } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { type IntentWithBrief, storeLongIntent } from "./brief.ts";
import { type CarriedItems, type CheckedRelease, carry, refuseTooMany } from "./carry.ts";
import { flagsOf } from "./flags.ts";
import type { LedgerIntent, ResolvedLedger } from "./ledger.ts";
import { intentsOf, ledgerEntry, originOf } from "./ledger-entry.ts";
import { checkReleases } from "./release-check.ts";

/** Who hands over, and the work it continues. */
interface HandoffSender extends Author {
  readonly role?: string | undefined;
  readonly work?: { readonly envelope: Envelope };
}

/** A handoff before it is sealed, as far as the ledger is concerned. */
interface PlannedHandoff {
  readonly draft: CheckedDraft;
  readonly task: string;
  readonly family: ResolvedLedger;
  readonly refs: Envelope["refs"];
  /** `bare`: it says nothing of what the ledger holds. */
  readonly sending: { readonly bare?: boolean | undefined };
}

/** What a handoff knows of its task's ledger. */
export interface HandoffLedger {
  readonly family: ResolvedLedger;
  readonly intents: readonly LedgerIntent[];
  readonly releases: readonly CheckedRelease[];
  readonly briefed: IntentWithBrief;
}

export async function readHandoffLedger(
  workspace: Workspace,
  sender: HandoffSender,
  plan: Pick<PlannedHandoff, "draft" | "task" | "family">,
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
    briefed: await storeLongIntent(workspace, sender, plan, intents),
  };
}

/** What a handoff says, with what it carries. */
export interface HandoffContent {
  readonly draft: CheckedDraft;
  readonly refs: Envelope["refs"];
  readonly said: Pick<Envelope, "brief" | "flags" | "origin" | "released">;
  readonly carried: CarriedItems;
}

/** `before`: the envelope that is continued or added to. */
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

/** What the ledger gets of a handoff; undefined when nothing changes. */
export function handoffLedgerEntry(
  { family, releases, briefed: { intent, brief } }: HandoffLedger,
  { carried }: HandoffContent,
  said: Provenance & { readonly record: string },
  queue?: StoredQueueState | undefined,
): PutEntry | undefined {
  const beginning = { begun: said, intent, ...(brief === undefined ? {} : { brief }) };
  return ledgerEntry({ family, beginning, carried, releases, queue }, said);
}
