/**
 * Notes during the work: memories of the task, linked to its acceptance, that renew the lease.
 * A note of somebody who lost the work is kept all the same, marked, so that the next holder can
 * tell what was found out by whom.
 */
import type { Envelope } from "../envelope/schema.ts";
import {
  type Author,
  type Memory,
  type MemoryInput,
  placedMemory,
  writeRecord,
} from "../memory/record.ts";
import { refusalError } from "../memory/refusals.ts";
import type { Claimed } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";

/** Marks what a holder wrote after it had lost the work. */
export const STALE_HOLDER = "stale-holder";

export interface Noted {
  readonly memory: Memory;
  /** False when the work had gone to somebody else: the note is kept, marked. */
  readonly held: boolean;
  /** The envelope that counts now; another than the holder's when the sender added to it. */
  readonly envelope: Envelope["id"];
}

export async function note(
  workspace: Workspace,
  holder: Author,
  hold: Claimed,
  input: MemoryInput,
): Promise<Noted> {
  const { delivery, envelope } = hold;
  const relations = [
    { kind: "continues-from" as const, to: delivery.acceptedBy },
    ...(input.relations ?? []),
  ];
  const described = { type: "step", task: envelope.task, ...input, relations };
  const held = await append(workspace, holder, {
    input: described,
    lease: {
      delivery: delivery.id,
      fence: delivery.fence,
      envelope: envelope.id,
      leaseMs: workspace.limits.leaseMs,
    },
  });
  if (held !== undefined) return { ...held, held: true };
  const marked = { ...described, tags: [...(input.tags ?? []), STALE_HOLDER] };
  const kept = await append(workspace, holder, { input: marked });
  return { memory: (kept as Omit<Noted, "held">).memory, held: false, envelope: envelope.id };
}

/** Undefined when the lease is lost. */
async function append(
  workspace: Workspace,
  holder: Author,
  { input, lease }: { input: MemoryInput; lease?: Parameters<Workspace["store"]["renewLease"]>[1] },
): Promise<Omit<Noted, "held"> | undefined> {
  const { ids, clock, limits, name, branch } = workspace;
  const written = writeRecord(holder, input, { ids, now: clock.now(), limits });
  const outcome = await workspace.store.appendMemories({
    workspace: name,
    branch,
    memories: [written.record],
    ...(lease && { lease }),
  });
  switch (outcome.kind) {
    case "appended": {
      const [place] = outcome.places;
      if (place === undefined) throw new Error("one record was appended, no place came back");
      return { memory: placedMemory(written, place, branch), envelope: outcome.envelope };
    }
    case "lease_lost":
    case "extended":
      return undefined;
    default:
      throw await refusalError(workspace, outcome);
  }
}
