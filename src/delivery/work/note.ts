/**
 * Notes during the work: memories of the task, linked to its acceptance, that renew the lease.
 * A note of somebody who lost the work is kept all the same, marked, so that the next holder can
 * tell what was found out by whom; so is one on a branch that was closed meanwhile, where that has gone.
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

export type NoteResult = WithSecrets<NoteOutcome>;

type NoteOutcome =
  | {
      readonly kind: "noted";
      readonly memory: Memory;
      /** The envelope that counts now; another than the holder's when the sender added to it. */
      readonly envelope: string;
    }
  /** The work had gone to somebody else: the note is kept, and marked. */
  | {
      readonly kind: "kept";
      readonly memory: Memory;
      /** The delivery as it is now; absent if it no longer exists. */
      readonly delivery?: Delivery;
    };

export function note(
  workspace: Workspace,
  holder: Author,
  hold: DeliveryWithEnvelopeRow,
  input: MemoryInput,
): Promise<NoteResult> {
  return runWithoutSecrets(workspace, input, async (said, secrets) =>
    withSecrets(await noteRedacted(workspace, holder, hold, said), secrets),
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
  // What cites nothing is not looked into: writes of one turn keep their order.
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

/** Work that was lost, and the acceptance it began with, where that is known. */
interface LostWork extends DeliveryWithEnvelopeRow {
  readonly accepted: string | undefined;
}

/** A note on work that is known to be lost. */
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

/** Refused now rather than when the lease is lost and the note matters most. */
function requireFreeTag({ tags = [] }: MemoryInput): void {
  if (tags.length < FORMAT_LIMITS.tags) return;
  throw new BatonError("invalid_memory", {
    message: `tags: a note may have ${FORMAT_LIMITS.tags - 1}, this one has ${tags.length}.`,
    path: "tags",
    hint: "One is kept free for marking what was noted after the work was lost.",
  });
}

type AppendResult =
  | Extract<NoteResult, { kind: "noted" }>
  | { readonly kind: "lease_lost"; readonly delivery: DeliveryRow | undefined };

interface NoteToAppend {
  readonly input: MemoryInput;
  readonly lease?: Lease;
  /** The hub itself has seen to what it mentions. */
  readonly vouched?: true;
}

export async function appendNote(
  workspace: Workspace,
  holder: Author,
  { input, lease, vouched }: NoteToAppend,
): Promise<AppendResult> {
  const { ids, clock, limits, name } = workspace;
  const written = writeRecord(holder, input, { ids, now: clock.now(), limits });
  // Its own work it may name: only what its author cites is looked into.
  if (vouched === undefined && written.record.mentions.length > 1) {
    await refuseInvisibleReferences(workspace, [written], { ahead: 1 });
  }
  const appendTo = (to: string) =>
    workspace.store.appendMemories({
      workspace: name,
      branch: to,
      memories: [written.record],
      ...(lease && { lease }),
    });
  let { branch } = workspace;
  let outcome = await appendTo(branch);
  while (outcome.kind === "branch_closed") {
    ({ branch } = await workspaceAfterClosing(workspace, outcome.branch));
    outcome = await appendTo(branch);
  }
  switch (outcome.kind) {
    case "appended": {
      const [place] = outcome.places;
      if (place === undefined) throw new Error("one record was appended, no place came back");
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
