/**
 * Reconstructs a handoff after its holder stopped responding in the middle of the work: from the notes and
 * trace it left, the hub drafts an envelope for the next holder, marked as reconstructed. What the sender
 * wrote is unchanged, and the hop does not count.
 */
import { clip } from "../../base/clip.ts";
import { isBatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { gapReason } from "../../context/view/freshness.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { reseal, type SealedEnvelope } from "../../envelope/seal.ts";
import { refreshCarriedFields } from "../../ledger/reseal.ts";
import { marksOf, withoutQuarantined } from "../../memory/quarantine/quarantine-mark.ts";
import { type Memory, memoryOf } from "../../memory/record.ts";
import { branchOf, parseEnvelope } from "../../store/parse-envelope.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import { publicVisibility, traceBranch } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** Characters of a note in the history; the record that it refers to contains all of it. */
const MAX_NOTE_LENGTH = 400;
/** Numbers of newest notes to include; the next smaller one is used if the envelope becomes too large. */
const NOTE_LIMITS = [100, 20, 4] as const;
/** Notes included even if the history is full; its oldest entries are then in the parent envelope only. */
const MIN_NOTES = 4;
/** Last steps of the trace, and characters of each: enough to see where the holder stopped. */
const MAX_STEPS = 5;
const MAX_STEP_LENGTH = 200;
/** Relations read, oldest first: more than a holder writes in the time it can hold the work. */
const MAX_RELATIONS = 10_000;

/** Returns the envelope for the next holder; undefined if the last one left neither notes nor steps. */
export async function reconstruct(
  workspace: Workspace,
  { delivery, envelope: row }: DeliveryWithEnvelopeRow,
  reason: string,
): Promise<SealedEnvelope | undefined> {
  if (delivery.state !== "accepted") return undefined;
  const { count, newest: noted } = await notesOf(workspace, delivery.acceptedBy, branchOf(row));
  const newest = await withoutQuarantined(workspace, noted);
  const steps = await withoutQuarantined(workspace, await lastSteps(workspace, delivery));
  if (newest.length === 0 && steps.length === 0) return undefined;
  const { attempt, holder } = delivery;
  const sent = parseEnvelope(workspace, row);
  // Records quarantined meanwhile are dropped; the work still warns about those it was sent with.
  const kept = await referencesWithoutQuarantined(workspace, sent);
  const from = { ...sent, ...(await refreshCarriedFields(workspace, sent)), ...kept };
  const reconstructed = { attempt, holder, notes: count, reason };
  const capacity = Math.max(FORMAT_LIMITS.listItems - from.history.length, MIN_NOTES);
  for (const most of NOTE_LIMITS) {
    const shownNotes = newest.slice(-Math.min(most, capacity));
    const sealed = trySeal(workspace, from, { reconstructed, notes: shownNotes, steps });
    if (sealed !== undefined) return sealed;
  }
  return undefined;
}

/** Returns the references without quarantined records, which become gaps. */
async function referencesWithoutQuarantined(
  workspace: Workspace,
  { refs, gaps = [] }: Envelope,
): Promise<Pick<Envelope, "refs" | "gaps">> {
  const marks = await marksOf(
    workspace,
    refs.map(({ id }) => id),
  );
  if (marks.size === 0) return { refs };
  const missing = [...marks].map(([id, mark]) => ({ id, reason: gapReason(undefined, mark) }));
  return {
    refs: refs.filter(({ id }) => !marks.has(id)),
    gaps: [...gaps, ...missing].slice(0, FORMAT_LIMITS.references),
  };
}

/** Returns how many notes the holder wrote since it accepted, and the newest of them, oldest first. */
async function notesOf(
  { store, name }: Workspace,
  acceptedBy: string,
  workedOn: string | undefined,
): Promise<{ readonly count: number; readonly newest: readonly Memory[] }> {
  const [accepted] = await store.readMemories(name, [acceptedBy]);
  if (accepted === undefined) return { count: 0, newest: [] };
  const edges = await store.findRelations({
    workspace: name,
    memory: acceptedBy,
    direction: "in",
    // Only what the whole team may see, on the branch the work was done on: another agent holds it next.
    sight: publicVisibility(workedOn ?? accepted.branch),
    kinds: ["continues-from"],
    limit: MAX_RELATIONS,
  });
  const ids = edges.slice(-NOTE_LIMITS[0]).map((edge) => edge.source);
  const rows = await store.readMemories(name, ids);
  const newest = rows
    .map(memoryOf)
    .filter(({ trail, redacted }) => trail === undefined && redacted === undefined);
  return { count: edges.length - ids.length + newest.length, newest };
}

interface ReconstructionContent {
  readonly reconstructed: NonNullable<Envelope["reconstructed"]>;
  readonly notes: readonly Memory[];
  readonly steps: readonly Memory[];
}

/** Returns the last steps of the holder on this task since it accepted, from the trace of its session. */
async function lastSteps(
  { store, name }: Workspace,
  { holder: agent, instance, task, acceptedAt }: DeliveryWithEnvelopeRow["delivery"],
): Promise<Memory[]> {
  const rows = await store.recentMemories({
    workspace: name,
    sight: publicVisibility(traceBranch(instance)),
    filter: { agent, task },
    limit: MAX_STEPS,
  });
  return rows
    .filter((row) => row.storedAt >= acceptedAt)
    .map(memoryOf)
    .filter(({ redacted }) => redacted === undefined)
    .reverse();
}

function trySeal(
  workspace: Workspace,
  from: Envelope,
  { reconstructed, notes, steps }: ReconstructionContent,
): SealedEnvelope | undefined {
  const known = new Set(from.refs.map((ref) => ref.id));
  const refs = notes
    .filter((note) => !known.has(note.id))
    .map((note) => ({ digest: note.digest, id: note.id }));
  const did = [...notes.map(historyOf), ...steps.map(stepOf)].sort((a, b) => a.at - b.at);
  try {
    return reseal(
      from,
      {
        id: workspace.ids.mint("envelope"),
        parents: [from.id],
        history: [...from.history, ...did].slice(-FORMAT_LIMITS.listItems),
        refs: [...from.refs, ...refs],
        reconstructed,
        metadata: { ...from.metadata, createdAt: workspace.clock.now() },
      },
      workspace,
    );
  } catch (error) {
    if (isBatonError(error)) return undefined; // Too large: retry with fewer notes.
    throw error;
  }
}

type TimedHistoryEntry = Envelope["history"][number] & { readonly at: number };

function historyOf(note: Memory): TimedHistoryEntry {
  const { content } = note;
  const did = clip(content, MAX_NOTE_LENGTH);
  return { agent: note.agent, at: note.createdAt, did, ref: note.id };
}

/** Without a reference, which would keep the trace forever. */
function stepOf({ agent, createdAt: at, content }: Memory): TimedHistoryEntry {
  return { agent, at, did: clip(content, MAX_STEP_LENGTH) };
}
