/** Moving deliveries other than by their holder: what policy or a person decided, with its record. */

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

/** The delivery as it was seen: whoever changed it meanwhile has changed the ground of a decision. */
export const guardOf = ({ state, fence, envelope }: DeliveryRow): Move["seen"] => ({
  state,
  fence,
  envelope,
});

export const trailStepOf = (
  { id, attempt }: DeliveryRow,
  verb: DeliveryStep["verb"],
  to?: string,
): DeliveryStep => ({ attempt, delivery: id, ...(to === undefined ? {} : { to }), verb });

/** The record a decision leaves, with what it did to which deliveries. */
export function decisionRecord(
  { ids, clock, limits }: Workspace,
  author: Author,
  input: MemoryInput,
  of: { readonly trail: readonly TrailStep[]; readonly sealed?: SealedEnvelope | undefined },
): NewMemory {
  const { sealed, trail } = of;
  const envelope = sealed && { digest: sealed.digest, id: sealed.envelope.id };
  const pen = { ids, now: clock.now(), limits, hallmark: { envelope, trail } };
  return writeRecord(author, input, pen).record;
}

export const newEnvelopeOf = ({ envelope, text }: SealedEnvelope): NewEnvelope => ({
  id: envelope.id,
  task: envelope.task,
  sender: envelope.from.agent,
  text,
  parents: envelope.parents,
});

/** The deliveries as they are now; undefined when one of them, or an entry, was no longer as it was seen. */
export async function moveDeliveries(
  workspace: Workspace,
  operation: Omit<MoveDeliveries, "workspace" | "branch">,
): Promise<readonly DeliveryRow[] | undefined> {
  const { name, branch, store } = workspace;
  const outcome = await store.moveDeliveries({ workspace: name, branch, ...operation });
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

export function missingParent(envelope: string): BatonError {
  return new BatonError("dangling_reference", {
    message: `parents: no envelope has the id ${envelope}.`,
    path: "parents",
    hint: "Name envelopes of this workspace.",
    details: { reference: envelope },
  });
}
