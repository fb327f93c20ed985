/**
 * Notes during the work: memories of the task, linked to its acceptance, that renew the lease.
 * A note of somebody who lost the work is kept all the same, marked, so that the next holder can
 * tell what was found out by whom; so is one on a branch that was closed meanwhile, where that has gone.
 */

import { BatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { parseOr } from "../../envelope/violations.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { STALE_HOLDER } from "../../history/delivery-records.ts";
import { afterClosing, forWork } from "../../memory/branches/work-branch.ts";
import { citedIn } from "../../memory/cited.ts";
import { hiddenAmong, refuseInvisible } from "../../memory/invisible.ts";
import { refuseQuarantined } from "../../memory/quarantine/quarantine-mark.ts";
import {
  type Author,
  type Memory,
  type MemoryInput,
  MemoryInputSchema,
  placedMemory,
  writeRecord,
} from "../../memory/record.ts";
import { hear, type Told, told } from "../../memory/redaction/secret-policy.ts";
import { refusalError } from "../../memory/refusals.ts";
import { sameBefore } from "../../memory/remember.ts";
import type { DeliveryRow } from "../../store/rows.ts";
import type { Claimed, Lease } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";

export type Noted = Told<Kept>;

type Kept =
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
  hold: Claimed,
  input: MemoryInput,
): Promise<Noted> {
  return hear(workspace, input, async (said, secrets) =>
    told(await noteHeard(workspace, holder, hold, said), secrets),
  );
}

async function noteHeard(
  workspace: Workspace,
  holder: Author,
  hold: Claimed,
  input: MemoryInput,
): Promise<Kept> {
  const { delivery, envelope } = hold;
  parseOr(MemoryInputSchema, input, { code: "invalid_memory", what: "The note" });
  leaveRoomForMark(input);
  const cited = citedIn(input);
  // What cites nothing is not looked into: writes of one turn keep their order.
  if (cited.length > 0) {
    const hidden = await hiddenAmong(
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
  const outcome = await appendNote(forWork(workspace, envelope), holder, {
    input: described,
    lease: {
      delivery: delivery.id,
      fence: delivery.fence,
      envelope: envelope.id,
      leaseMs: workspace.limits.leaseMs,
    },
  });
  if (outcome.kind === "noted") return outcome;
  return keep(workspace, holder, described, outcome.delivery);
}

/** Work that was lost, and the acceptance it began with, where that is known. */
interface LostHold extends Claimed {
  readonly accepted: string | undefined;
}

/** A note on work that is known to be lost. */
export function keepNote(
  workspace: Workspace,
  holder: Author,
  hold: LostHold,
  input: MemoryInput,
): Promise<Noted> {
  return hear(workspace, input, async (said, secrets) =>
    told(await keepHeard(workspace, holder, hold, said), secrets),
  );
}

async function keepHeard(
  workspace: Workspace,
  holder: Author,
  { delivery, envelope, accepted = envelope.memory }: LostHold,
  input: MemoryInput,
): Promise<Noted> {
  parseOr(MemoryInputSchema, input, { code: "invalid_memory", what: "The note" });
  leaveRoomForMark(input);
  await refuseQuarantined(workspace, citedIn(input));
  const own = { kind: "continues-from" as const, to: accepted };
  const relations = [own, ...(input.relations ?? [])];
  const described = { type: "step", task: envelope.task, ...input, relations };
  return keep(workspace, holder, described, delivery);
}

async function keep(
  workspace: Workspace,
  holder: Author,
  described: MemoryInput,
  delivery: DeliveryRow | undefined,
): Promise<Noted> {
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
function leaveRoomForMark({ tags = [] }: MemoryInput): void {
  if (tags.length < FORMAT_LIMITS.tags) return;
  throw new BatonError("invalid_memory", {
    message: `tags: a note may have ${FORMAT_LIMITS.tags - 1}, this one has ${tags.length}.`,
    path: "tags",
    hint: "One is kept free for marking what was noted after the work was lost.",
  });
}

type Appended =
  | Extract<Noted, { kind: "noted" }>
  | { readonly kind: "lease_lost"; readonly delivery: DeliveryRow | undefined };

interface ToAppend {
  readonly input: MemoryInput;
  readonly lease?: Lease;
  /** The hub itself has seen to what it mentions. */
  readonly vouched?: true;
}

export async function appendNote(
  workspace: Workspace,
  holder: Author,
  { input, lease, vouched }: ToAppend,
): Promise<Appended> {
  const { ids, clock, limits, name } = workspace;
  const written = writeRecord(holder, input, { ids, now: clock.now(), limits });
  // Its own work it may name: only what its author cites is looked into.
  if (vouched === undefined && written.record.mentions.length > 1) {
    await refuseInvisible(workspace, [written], { ahead: 1 });
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
    ({ branch } = await afterClosing(workspace, outcome.branch));
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
      const [before] = (await sameBefore(workspace, [written])) ?? [];
      if (before === undefined) throw await refusalError(workspace, outcome);
      return { kind: "noted", memory: before, envelope: lease?.envelope ?? "" };
    }
    default:
      throw await refusalError(workspace, outcome);
  }
}
