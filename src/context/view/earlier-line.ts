/**
 * Reads what earlier handoffs of a line reported, for its later receivers: the newest envelopes of the task
 * and of the tasks it inherits from, and the progress on the ledger, however old. Only what the team may see:
 * handoffs that were quarantined or are on another branch are omitted.
 */

import type { Envelope } from "../../envelope/schema.ts";
import { type LedgerProgress, type LedgerRelease, resolveLedger } from "../../ledger/ledger.ts";
import { hopOf, tryParseEnvelope } from "../../store/parse-envelope.ts";
import type { EnvelopeRow } from "../../store/rows.ts";
import { isRowVisible, type Visibility } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** What earlier handoffs of a line reported. */
export interface EarlierLine {
  /** Oldest first. */
  readonly envelopes: readonly Envelope[];
  /** Oldest first; may come from envelopes older than those above. */
  readonly progress: readonly LedgerProgress[];
  readonly released: readonly LedgerRelease[];
  /** The tasks it inherits from, eldest first. */
  readonly inherited: readonly string[];
  /** Deliveries of these envelopes that took more than one attempt. */
  readonly retried: readonly string[];
}

/** The line of a first handoff. */
export const EMPTY_EARLIER_LINE: EarlierLine = {
  envelopes: [],
  progress: [],
  released: [],
  inherited: [],
  retried: [],
};

/** Envelopes read of the task itself, and of all tasks it inherits from, which share them equally. */
const OWN_ENVELOPES = 64;
const INHERITED_ENVELOPES = 256;
const MIN_PER_TASK = 4;

/** Returns what was reported before an envelope. `looking`: the team's visibility. */
export async function readEarlierLine(
  team: Workspace,
  looking: Promise<Visibility>,
  envelope: Envelope,
): Promise<EarlierLine> {
  const { progress, released, inherited } = await resolveLedger(team, envelope.task);
  const share = Math.max(MIN_PER_TASK, Math.floor(INHERITED_ENVELOPES / inherited.length));
  const { store, name } = team;
  const [own, ...others] = await Promise.all([
    store.readLine(name, envelope.task, OWN_ENVELOPES + 1),
    ...inherited.map((task) => store.readLine(name, task, share)),
  ]);
  const lines = [...others.flat(), ...(own ?? [])];
  const rows = envelopesBefore(
    lines.map((entry) => entry.envelope),
    envelope,
  );
  const fromOthers = progress.filter((each) => each.envelope !== envelope.id);
  if (rows.length === 0 && fromOthers.length === 0) return { ...EMPTY_EARLIER_LINE, inherited };
  const visible = await visibleIn(team, await looking, { rows, progress: fromOthers });
  const shown = new Set(visible.envelopes.map(({ id }) => id));
  const retried = lines
    .filter((entry) => shown.has(entry.envelope.id))
    .flatMap(({ deliveries }) => deliveries.filter(({ fence }) => fence > 1))
    .map(({ id }) => id);
  return { ...visible, released, inherited, retried };
}

/** Removes the envelope itself, what was sent after it, and the envelopes that it was resealed from. */
function envelopesBefore(
  rows: readonly EnvelopeRow[],
  { id, task, parents, hop }: Envelope,
): EnvelopeRow[] {
  const at = rows.findIndex((row) => row.id === id);
  const isSealedAgain = (row: EnvelopeRow): boolean =>
    parents.includes(row.id) && row.task === task && hopOf(row) === hop;
  return rows.filter((row, i) => (at < 0 || i < at || row.task !== task) && !isSealedAgain(row));
}

async function visibleIn(
  team: Workspace,
  sight: Visibility,
  {
    rows,
    progress,
  }: { readonly rows: readonly EnvelopeRow[]; readonly progress: readonly LedgerProgress[] },
): Promise<Pick<EarlierLine, "envelopes" | "progress">> {
  const records = [
    ...rows.map(({ memory }) => memory),
    ...progress.flatMap(({ record }) => record ?? []),
  ];
  const found = await team.store.readMemories(team.name, [...new Set(records)]);
  const seen = new Set(found.filter((row) => isRowVisible(row, sight)).map(({ id }) => id));
  return {
    envelopes: rows
      .filter(({ memory }) => seen.has(memory))
      .flatMap((row) => tryParseEnvelope(team, row) ?? [])
      .filter(({ redacted }) => redacted === undefined),
    progress: progress.filter(({ record }) => record === undefined || seen.has(record)),
  };
}
