/**
 * The dead man's handoff: a holder fell silent in the middle of its work. From the notes it left, the
 * hub drafts an envelope for whoever has the delivery next, marked as reconstructed. What the sender
 * said stays as it was; the hop does not count.
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

/** What of a note is told in the history; all of it stands in the record it refers to. */
const MAX_NOTE_LENGTH = 400;
/** So many notes are told, the newest; fewer when the envelope would be too large. */
const NOTE_LIMITS = [100, 20, 4] as const;
/** So many are told also where the history is full: its oldest entries then stand in the parent only. */
const MIN_NOTES = 4;
/** Of the trace it left, the last steps, and what of each: enough to see where it stopped. */
const MAX_STEPS = 5;
const MAX_STEP_LENGTH = 200;
/** So many are looked for, oldest first: more than a holder writes in the time it can have the work. */
const MAX_RELATIONS = 10_000;

/** The envelope for the next holder; undefined when the last one left nothing to go by. */
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
  // What was quarantined meanwhile does not go on; the work still warns of what was sent with it.
  const kept = await referencesWithoutQuarantined(workspace, sent);
  const from = { ...sent, ...(await refreshCarriedFields(workspace, sent)), ...kept };
  const reconstructed = { attempt, holder, notes: count, reason };
  const room = Math.max(FORMAT_LIMITS.listItems - from.history.length, MIN_NOTES);
  for (const most of NOTE_LIMITS) {
    const told = newest.slice(-Math.min(most, room));
    const sealed = trySeal(workspace, from, { reconstructed, told, steps });
    if (sealed !== undefined) return sealed;
  }
  return undefined;
}

/** What it refers to; what was quarantined of that is a gap. */
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

/** What the holder wrote down under this acceptance: how much, and the newest of it, oldest first. */
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
    // On the branch the work was done on, and what everybody may see: another will hold it next.
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
  readonly told: readonly Memory[];
  readonly steps: readonly Memory[];
}

/** The last the holder did on this task since it accepted, as its session's trace has it. */
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
  { reconstructed, told, steps }: ReconstructionContent,
): SealedEnvelope | undefined {
  const known = new Set(from.refs.map((ref) => ref.id));
  const refs = told
    .filter((note) => !known.has(note.id))
    .map((note) => ({ digest: note.digest, id: note.id }));
  const did = [...told.map(historyOf), ...steps.map(stepOf)].sort((a, b) => a.at - b.at);
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
    if (isBatonError(error)) return undefined; // Larger than it may be: with fewer notes.
    throw error;
  }
}

type TimedHistoryEntry = Envelope["history"][number] & { readonly at: number };

function historyOf(note: Memory): TimedHistoryEntry {
  const { content } = note;
  const did = clip(content, MAX_NOTE_LENGTH);
  return { agent: note.agent, at: note.createdAt, did, ref: note.id };
}

/** Without a reference: that would keep the trace for ever. */
function stepOf({ agent, createdAt: at, content }: Memory): TimedHistoryEntry {
  return { agent, at, did: clip(content, MAX_STEP_LENGTH) };
}
