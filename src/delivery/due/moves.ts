/** Moves deliveries on behalf of a policy or a person (not their holder), together with a decision record. */

import { BatonError } from "../../base/errors.ts";
import type { SealedEnvelope } from "../../envelope/seal.ts";
import { type Author, type MemoryInput, writeRecord } from "../../memory/record.ts";
import { refusalError } from "../../memory/refusals.ts";
import type {
  DeliveryRow,
  DeliveryStep,
  NewEnvelope,
  NewMemory,
  TrailStep,
} from "../../store/rows.ts";
import type { Move, MoveDeliveries } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { receiverError } from "../settings/receivers.ts";

/**
 * Returns the guard of a move: if state, fence or envelope changed since they were read, the move is refused.
 */
export const guardOf = ({ state, fence, envelope }: DeliveryRow): Move["seen"] => ({
  state,
  fence,
  envelope,
});

/** Returns the trail step of a delivery for a decision record. */
export const trailStepOf = (
  { id, attempt }: DeliveryRow,
  verb: DeliveryStep["verb"],
  to?: string,
): DeliveryStep => ({ attempt, delivery: id, ...(to === undefined ? {} : { to }), verb });

/** Creates the record of a decision, with what it did to which deliveries. */
export function decisionRecord(
  { ids, clock, limits, branch }: Workspace,
  author: Author,
  input: MemoryInput,
  of: { readonly trail: readonly TrailStep[]; readonly sealed?: SealedEnvelope | undefined },
): NewMemory {
  const { sealed, trail } = of;
  const envelope = sealed && { digest: sealed.digest, id: sealed.envelope.id };
  const context = { ids, now: clock.now(), limits, branch, hallmark: { envelope, trail } };
  return writeRecord(author, input, context).record;
}

/** Returns a sealed envelope as the store's input. */
export const newEnvelopeOf = ({ envelope, text }: SealedEnvelope): NewEnvelope => ({
  id: envelope.id,
  task: envelope.task,
  sender: envelope.from.agent,
  text,
  parents: envelope.parents,
});

/**
 * Moves deliveries and returns them as they are now; undefined if one of them, or an entry, changed since it
 * was read. Throws if a receiver is unknown or disabled, or a parent does not exist.
 */
export async function moveDeliveries(
  workspace: Workspace,
  operation: Omit<MoveDeliveries, "workspace" | "branch">,
): Promise<readonly DeliveryRow[] | undefined> {
  const { name, branch, store, turn } = workspace;
  const write = () => store.moveDeliveries({ workspace: name, branch, ...operation });
  const outcome = await (turn === undefined ? write() : turn.begin(write));
  switch (outcome.kind) {
    case "moved":
      return outcome.deliveries;
    case "changed":
    case "entry_changed":
      return undefined;
    case "unknown_receiver":
    case "receiver_disabled":
      throw await receiverError(workspace, outcome);
    case "missing_parent":
      throw missingParent(outcome.envelope);
    default:
      throw await refusalError(workspace, outcome);
  }
}

/** Returns the `dangling_reference` error for a parent envelope that does not exist. */
export function missingParent(envelope: string): BatonError {
  return new BatonError("dangling_reference", {
    message: `parents: envelope ${envelope} does not exist.`,
    path: "parents",
    hint: "Use ids of envelopes in this workspace.",
    details: { reference: envelope },
  });
}
