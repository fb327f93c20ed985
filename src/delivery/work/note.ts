/**
 * Writes notes on work: memories of the task, linked to the acceptance, that renew the lease.
 *
 * A note by an agent that has lost the work is kept and marked, so that the next holder can see which agent
 * found out what. A note on a branch that was closed meanwhile is written to the branch that replaced it.
 */

import { BatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { STALE_HOLDER } from "../../history/delivery-records.ts";
import { workspaceAfterClosing, workspaceForWork } from "../../memory/branches/work-branch.ts";
import { citationsOf } from "../../memory/citations.ts";
import { refuseQuarantined } from "../../memory/quarantine/quarantine-mark.ts";
import {
  type Author,
  type Memory,
  type MemoryInput,
  MemoryInputSchema,
  placedMemory,
  writeRecord,
} from "../../memory/record.ts";
import {
  runWithoutSecrets,
  type WithSecrets,
  withSecrets,
} from "../../memory/redaction/secret-policy.ts";
import { findHiddenIds, refuseInvisibleReferences } from "../../memory/reference-visibility.ts";
import { refusalError } from "../../memory/refusals.ts";
import { findEarlierWrite } from "../../memory/remember.ts";
import type { DeliveryRow } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow, Lease } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** The outcome of writing a note, with the secrets that were redacted. */
export type NoteResult = WithSecrets<NoteOutcome>;

type NoteOutcome =
  | {
      readonly kind: "noted";
      readonly memory: Memory;
      /** Id of the current envelope; differs from the holder's if the sender has extended the work. */
      readonly envelope: string;
    }
  /** The lease was lost: the note is kept and marked. */
  | {
      readonly kind: "kept";
      readonly memory: Memory;
      /** The delivery as it is now; absent if it no longer exists. */
      readonly delivery?: Delivery;
    };

/** Writes a note under the lease of a work, or as a marked note if the lease was lost. */
export function note(
  workspace: Workspace,
  holder: Author,
  hold: DeliveryWithEnvelopeRow,
  input: MemoryInput,
): Promise<NoteResult> {
  return runWithoutSecrets(workspace, input, async (redacted, secrets) =>
    withSecrets(await noteRedacted(workspace, holder, hold, redacted), secrets),
  );
}

async function noteRedacted(
  workspace: Workspace,
  holder: Author,
  hold: DeliveryWithEnvelopeRow,
  input: MemoryInput,
): Promise<NoteOutcome> {
  const { delivery, envelope } = hold;
  parseOrThrow(MemoryInputSchema, input, { code: "invalid_memory", what: "The note" });
  requireFreeTag(input);
  const cited = citationsOf(input);
  // A note without citations skips this query, so that writes of one turn keep their order.
  if (cited.length > 0) {
    const hidden = await findHiddenIds(
      workspace,
      cited.map(({ id }) => id),
    );
    await refuseQuarantined(
      workspace,
      cited.filter(({ id }) => !hidden.has(id)),
    );
  }
  const own = { kind: "continues-from" as const, to: delivery.acceptedBy };
  const relations = [own, ...(input.relations ?? [])];
  const described = { type: "step", task: envelope.task, ...input, relations };
  const outcome = await appendNote(workspaceForWork(workspace, envelope), holder, {
    input: described,
    lease: {
      delivery: delivery.id,
      fence: delivery.fence,
      envelope: envelope.id,
      leaseMs: workspace.limits.leaseMs,
    },
  });
  if (outcome.kind === "noted") return outcome;
  return storeMarkedNote(workspace, holder, described, outcome.delivery);
}

/** Work that was lost, with the acceptance it began with, if that is known. */
interface LostWork extends DeliveryWithEnvelopeRow {
  readonly accepted: string | undefined;
}

/** Writes a marked note on work that is known to be lost. */
export function noteLostWork(
  workspace: Workspace,
  holder: Author,
  hold: LostWork,
  input: MemoryInput,
): Promise<NoteResult> {
  return runWithoutSecrets(workspace, input, async (said, secrets) =>
    withSecrets(await noteLostWorkRedacted(workspace, holder, hold, said), secrets),
  );
}

async function noteLostWorkRedacted(
  workspace: Workspace,
  holder: Author,
  { delivery, envelope, accepted = envelope.memory }: LostWork,
  input: MemoryInput,
): Promise<NoteResult> {
  parseOrThrow(MemoryInputSchema, input, { code: "invalid_memory", what: "The note" });
  requireFreeTag(input);
  await refuseQuarantined(workspace, citationsOf(input));
  const own = { kind: "continues-from" as const, to: accepted };
  const relations = [own, ...(input.relations ?? [])];
  const described = { type: "step", task: envelope.task, ...input, relations };
  return storeMarkedNote(workspace, holder, described, delivery);
}

async function storeMarkedNote(
  workspace: Workspace,
  holder: Author,
  described: MemoryInput,
  delivery: DeliveryRow | undefined,
): Promise<NoteResult> {
  const marked = { ...described, tags: [...(described.tags ?? []), STALE_HOLDER] };
  const kept = await appendNote(workspace, holder, { input: marked });
  if (kept.kind !== "noted") throw new Error("a note outside a lease cannot lose one");
  return {
    kind: "kept",
    memory: kept.memory,
    ...(delivery && { delivery: deliveryOf(delivery) }),
  };
}

/** Refuses too many tags now rather than when the lease is lost and the note matters most. */
function requireFreeTag({ tags = [] }: MemoryInput): void {
  if (tags.length < FORMAT_LIMITS.tags) return;
  throw new BatonError("invalid_memory", {
    message: `tags: a note can have at most ${FORMAT_LIMITS.tags - 1} tags, but has ${tags.length}.`,
    path: "tags",
    hint: "Remove tags; one is reserved for marking notes that are written after the lease was lost.",
  });
}

type AppendResult =
  | Extract<NoteResult, { kind: "noted" }>
  | { readonly kind: "lease_lost"; readonly delivery: DeliveryRow | undefined };

interface NoteToAppend {
  readonly input: MemoryInput;
  readonly lease?: Lease;
  /** The hub itself has checked what the note mentions. */
  readonly vouched?: true;
}

/**
 * Appends a note, following branches that were closed meanwhile. Returns `lease_lost` instead of throwing it.
 */
export async function appendNote(
  workspace: Workspace,
  holder: Author,
  { input, lease, vouched }: NoteToAppend,
): Promise<AppendResult> {
  const { ids, clock, limits, name } = workspace;
  const noted = { ...input, id: input.id ?? ids.mint("memory") };
  const pen = { ids, now: clock.now(), limits };
  let { branch } = workspace;
  let written = writeRecord(holder, noted, { ...pen, branch });
  // A note may always mention its own work: only further citations are checked.
  if (vouched === undefined && written.record.mentions.length > 1) {
    await refuseInvisibleReferences(workspace, [written], { ahead: 1 });
  }
  const append = () =>
    workspace.store.appendMemories({
      workspace: name,
      branch,
      memories: [written.record],
      ...(lease && { lease }),
    });
  let outcome = await append();
  while (outcome.kind === "branch_closed") {
    ({ branch } = await workspaceAfterClosing(workspace, outcome.branch));
    written = writeRecord(holder, noted, { ...pen, branch }); // A signature covers the branch.
    outcome = await append();
  }
  switch (outcome.kind) {
    case "appended": {
      const [place] = outcome.places;
      if (place === undefined)
        throw new Error("one record was appended, but the store returned no place");
      const { envelope } = outcome;
      return { kind: "noted", memory: placedMemory(written, place, branch), envelope };
    }
    case "lease_lost":
      return outcome;
    case "entry_changed":
    case "tip_moved":
      throw new Error(`a note was refused: ${outcome.kind}`);
    case "id_taken": {
      const [before] = (await findEarlierWrite(workspace, [written])) ?? [];
      if (before === undefined) throw await refusalError(workspace, outcome);
      return { kind: "noted", memory: before, envelope: lease?.envelope ?? "" };
    }
    default:
      throw await refusalError(workspace, outcome);
  }
}
