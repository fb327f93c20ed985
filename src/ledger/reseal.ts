/**
 * The ledger and an envelope that is sealed again by the hub or a person: an answer, a join that opens, a
 * copy for a late subscriber, what a holder left behind, a dead letter that is tried again. It gets what
 * its task carries now; what was released since is off, and it says so.
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

/** What an envelope says instead; `parents`: tasks whose work goes on in it. */
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
  // Nobody is here to choose: with more than it has room for, it stays as it was sent, and says so.
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

/** Of more than a list has room for: the first that the envelope has not, and how many there are. */
function omissionFlags(
  carried: readonly { readonly id: string }[],
  envelope: Envelope,
  path: "constraints" | "decisions",
): NonNullable<Envelope["flags"]> {
  if (carried.length <= FORMAT_LIMITS.listItems) return [];
  const said = new Set(envelope[path].map(({ id }) => id));
  const missing = carried.filter(({ id }) => !said.has(id));
  const why = `no room for ${missing.length} that the line carries: see the ledger of "${envelope.task}"`;
  return missing.slice(0, 1).map(({ id: about }) => ({ about, path, why }));
}

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

/** What somebody changes in an envelope, besides what does not concern the ledger. */
interface Edits {
  readonly constraints?: CheckedDraft["constraints"] | undefined;
  readonly next?: string[] | undefined;
  readonly state?: string | undefined;
}

/** The same where somebody edits it: what they add is added to the ledger, and nothing goes. */
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
