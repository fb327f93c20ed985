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
import { resealed, type SealedEnvelope } from "../../envelope/seal.ts";
import { carriedNow } from "../../ledger/recarry.ts";
import { marksOf, unmarked } from "../../memory/quarantine/quarantine-mark.ts";
import { type Memory, memoryOf } from "../../memory/record.ts";
import { branchOf, parseEnvelope } from "../../store/parse-envelope.ts";
import { everybodyOn, traceBranch } from "../../store/sight.ts";
import type { Claimed } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** What of a note is told in the history; all of it stands in the record it refers to. */
const TOLD = 400;
/** So many notes are told, the newest; fewer when the envelope would be too large. */
const MOST_TOLD = [100, 20, 4] as const;
/** So many are told also where the history is full: its oldest entries then stand in the parent only. */
const LEAST_TOLD = 4;
/** Of the trace it left, the last steps, and what of each: enough to see where it stopped. */
const STEPS_TOLD = 5;
const STEP_TOLD = 200;
/** So many are looked for, oldest first: more than a holder writes in the time it can have the work. */
const MOST_FOUND = 10_000;

/** The envelope for the next holder; undefined when the last one left nothing to go by. */
export async function reconstruct(
  workspace: Workspace,
  { delivery, envelope: row }: Claimed,
  reason: string,
): Promise<SealedEnvelope | undefined> {
  if (delivery.state !== "accepted") return undefined;
  const { count, newest: noted } = await notesOf(workspace, delivery.acceptedBy, branchOf(row));
  const newest = await unmarked(workspace, noted);
  const steps = await unmarked(workspace, await lastSteps(workspace, delivery));
  if (newest.length === 0 && steps.length === 0) return undefined;
  const { attempt, holder } = delivery;
  const sent = parseEnvelope(workspace, row);
  // What was quarantined meanwhile does not go on; the work still warns of what was sent with it.
  const kept = await withoutMarked(workspace, sent);
  const from = { ...sent, ...(await carriedNow(workspace, sent)), ...kept };
  const reconstructed = { attempt, holder, notes: count, reason };
  const room = Math.max(FORMAT_LIMITS.listItems - from.history.length, LEAST_TOLD);
  for (const most of MOST_TOLD) {
    const told = newest.slice(-Math.min(most, room));
    const sealed = trySeal(workspace, from, { reconstructed, told, steps });
    if (sealed !== undefined) return sealed;
  }
  return undefined;
}

/** What it refers to; what was quarantined of that is a gap. */
async function withoutMarked(
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
    sight: everybodyOn(workedOn ?? accepted.branch),
    kinds: ["continues-from"],
    limit: MOST_FOUND,
  });
  const ids = edges.slice(-MOST_TOLD[0]).map((edge) => edge.source);
  const rows = await store.readMemories(name, ids);
  const newest = rows
    .map(memoryOf)
    .filter(({ trail, redacted }) => trail === undefined && redacted === undefined);
  return { count: edges.length - ids.length + newest.length, newest };
}

interface Remains {
  readonly reconstructed: NonNullable<Envelope["reconstructed"]>;
  readonly told: readonly Memory[];
  readonly steps: readonly Memory[];
}

/** The last the holder did on this task since it accepted, as its session's trace has it. */
async function lastSteps(
  { store, name }: Workspace,
  { holder: agent, instance, task, acceptedAt }: Claimed["delivery"],
): Promise<Memory[]> {
  const rows = await store.recentMemories({
    workspace: name,
    sight: everybodyOn(traceBranch(instance)),
    filter: { agent, task },
    limit: STEPS_TOLD,
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
  { reconstructed, told, steps }: Remains,
): SealedEnvelope | undefined {
  const known = new Set(from.refs.map((ref) => ref.id));
  const refs = told
    .filter((note) => !known.has(note.id))
    .map((note) => ({ digest: note.digest, id: note.id }));
  const did = [...told.map(historyOf), ...steps.map(stepOf)].sort((a, b) => a.at - b.at);
  try {
    return resealed(
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

type Told = Envelope["history"][number] & { readonly at: number };

function historyOf(note: Memory): Told {
  const { content } = note;
  const did = clip(content, TOLD);
  return { agent: note.agent, at: note.createdAt, did, ref: note.id };
}

/** Without a reference: that would keep the trace for ever. */
function stepOf({ agent, createdAt: at, content }: Memory): Told {
  return { agent, at, did: clip(content, STEP_TOLD) };
}
