/**
 * Updates the ledger fields of an envelope that the hub or a person seals again: an answer, a join that
 * opens, a copy for a late subscriber, unfinished work of a lost holder, a redriven dead letter. The new
 * envelope gets the task's current ledger. Items released since are removed and listed in `released`.
 */

import { FORMAT_LIMITS } from "../base/limits.ts";
import type { CheckedDraft, Envelope } from "../envelope/schema.ts";
import type { Provenance } from "../memory/stored-ledger.ts";
import type { PutEntry } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { carry } from "./carry.ts";
import { flagsOf } from "./flags.ts";
import { type ResolvedLedger, resolveLedger } from "./ledger.ts";
import { intentsOf, ledgerEntry, originOf } from "./ledger-entry.ts";

type CarriedFields = Partial<
  Pick<Envelope, "constraints" | "decisions" | "flags" | "origin" | "released">
>;

/**
 * Returns the envelope fields to replace; empty if the envelope is redacted or the task has no ledger.
 * `parents`: further tasks that the envelope continues and inherits from.
 */
export async function refreshCarriedFields(
  workspace: Workspace,
  envelope: Envelope,
  parents: readonly string[] = [],
): Promise<CarriedFields> {
  if (envelope.redacted !== undefined) return {};
  const family = await resolveLedger(workspace, envelope.task, parents);
  if (family.kept === undefined && family.from.length === 0) return {};
  const { constraints, decisions } = envelope;
  const carried = carry(family, { constraints, decisions, releases: [] }, undefined);
  // No sender can choose what to drop: above the list limit the envelope keeps its items and gets a flag.
  const flags = (["constraints", "decisions"] as const).flatMap((path) =>
    omissionFlags(carried[path], envelope, path),
  );
  if (flags.length > 0) {
    return { flags: [...(envelope.flags ?? []), ...flags].slice(-FORMAT_LIMITS.listItems) };
  }
  const origin = originOf(intentsOf(family), envelope.intent);
  return {
    constraints: carried.constraints,
    decisions: carried.decisions,
    ...(origin === undefined ? {} : { origin }),
    ...releasedSince(envelope, family),
  };
}

/** Flags a list that exceeds the limit: names the first missing item and the number of missing items. */
function omissionFlags(
  carried: readonly { readonly id: string }[],
  envelope: Envelope,
  path: "constraints" | "decisions",
): NonNullable<Envelope["flags"]> {
  if (carried.length <= FORMAT_LIMITS.listItems) return [];
  const statedIds = new Set(envelope[path].map(({ id }) => id));
  const missing = carried.filter(({ id }) => !statedIds.has(id));
  const why = `${missing.length} more on the ledger of "${envelope.task}" exceed the limit of the list`;
  return missing.slice(0, 1).map(({ id: about }) => ({ about, path, why }));
}

/** Returns `released`, extended by the envelope's items that were released after it was sealed. */
function releasedSince(
  { constraints, decisions, released = [] }: Envelope,
  family: ResolvedLedger,
): Pick<Envelope, "released"> {
  const had = [
    ...constraints.map(({ id, rule }) => ["constraint", id, rule] as const),
    ...decisions.map(({ id, question }) => ["decision", id, question] as const),
  ];
  const since = family.released
    .filter((each) =>
      had.some(([kind, id, said]) => kind === each.kind && id === each.id && said === each.said),
    )
    .map(({ by, decided, id, reason }) => ({
      by,
      ...(decided === undefined ? {} : { decided }),
      id,
      reason,
    }));
  const all = [...new Map([...released, ...since].map((each) => [each.id, each])).values()];
  return all.length === 0 ? {} : { released: all.slice(-FORMAT_LIMITS.listItems) };
}

/** The edits of an envelope that concern the ledger. */
interface Edits {
  readonly constraints?: CheckedDraft["constraints"] | undefined;
  readonly next?: string[] | undefined;
  readonly state?: string | undefined;
}

/**
 * Like refreshCarriedFields(), for an envelope that is edited: added items are added to the ledger, and none
 * are removed. `entry` builds the ledger entry to write with the edit; undefined if nothing changes.
 */
export async function carryEdits(
  workspace: Workspace,
  envelope: Envelope,
  edits: Edits,
): Promise<{
  readonly changes: CarriedFields;
  readonly entry: (said: Provenance & { readonly record: string }) => PutEntry | undefined;
}> {
  const family = await resolveLedger(workspace, envelope.task);
  const { constraints = envelope.constraints, next = [], state } = edits;
  const own = { constraints, decisions: envelope.decisions, releases: [] };
  const carried = carry(family, own, envelope);
  const texts = { constraints: edits.constraints ?? [], decisions: [], history: [], next, state };
  const flags = [...(envelope.flags ?? []), ...flagsOf(family, carried, texts, envelope)];
  const origin = originOf(intentsOf(family), envelope.intent);
  return {
    changes: {
      constraints: carried.constraints,
      decisions: carried.decisions,
      ...(flags.length > 0 && { flags: flags.slice(-FORMAT_LIMITS.listItems) }),
      ...(origin === undefined ? {} : { origin }),
      ...releasedSince(envelope, family),
    },
    entry: (said) => {
      const beginning = { begun: said, intent: envelope.intent };
      return ledgerEntry({ family, beginning, carried, releases: [] }, said);
    },
  };
}
