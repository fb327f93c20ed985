/**
 * Adopts a proposal: writes the change under the lease of the work that proposes it, together with an entry
 * that marks it as adopted, and then completes the work. If the process dies in between, the work is offered
 * again, possibly with a reconstructed envelope; adopting it again finds the entry and writes nothing. A
 * proposal for an item that was changed since is declined, with the current item as the reason. A proposal
 * that its sender extended must be read first.
 */
import * as z from "zod";
import { canonicalJson, sha256 } from "../../base/digest.ts";
import { BatonError, isBatonError } from "../../base/errors.ts";
import type { Worker } from "../../delivery/receive/worker.ts";
import type { Result } from "../../delivery/send/result.ts";
import { CONTEXT_CHANGE_TYPE } from "../../envelope/built-in-actions.ts";
import type { EnvelopeOf } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { Delivery } from "../../history/delivery.ts";
import { requireKeeper } from "../../memory/keepers.ts";
import { type QuarantineResult, quarantine } from "../../memory/quarantine/quarantine.ts";
import { ContextKey, nameOf } from "../../shared-context/items.ts";
import { type ItemChange, writeItemChange } from "../../shared-context/write.ts";
import { type EntryName, entryValue, toEntryText } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import {
  type ItemProposal,
  type ProposalPayload,
  ProposalPayloadSchema,
  type QuarantineProposal,
} from "./propose.ts";

const ADOPTED = "context-adopted";

/** Options of `context.adopt()`. `despite`: keys of decisions that the change may contradict. */
export const AdoptSchema = z.strictObject({ despite: z.array(ContextKey).optional() });

export type AdoptOptions = z.input<typeof AdoptSchema>;

/** The result of adopting a proposal. */
export type AdoptResult =
  | {
      readonly kind: "adopted";
      readonly version: number;
      readonly memory: string;
      readonly delivery: Delivery;
    }
  /** The proposal was a quarantine. */
  | {
      readonly kind: "quarantined";
      readonly quarantine: QuarantineResult;
      readonly delivery: Delivery;
    }
  /** The item was changed since the proposal, which was declined for this reason. */
  | { readonly kind: "stale"; readonly conflict: BatonError; readonly delivery: Delivery };

interface StoredAdoption {
  readonly version: number;
  readonly memory: string;
}

/** The accepted work that proposes a change. */
interface ProposalWork {
  readonly id: string;
  readonly handle: string;
  readonly envelope: EnvelopeOf<unknown>;
  complete(result?: Result): Promise<{ readonly delivery: Delivery }>;
  decline(reason: string): Promise<{ readonly delivery: Delivery }>;
}

/**
 * Adopts the proposal of accepted work. Throws `not_permitted`, `contradiction`, `work_extended`, and
 * `invalid_input` if the work is not a proposal.
 */
export async function adopt(
  workspace: Workspace,
  keeper: Worker,
  work: ProposalWork,
  options: AdoptOptions = {},
): Promise<AdoptResult> {
  const { despite } = parseOrThrow(AdoptSchema, options, {
    code: "invalid_input",
    what: "The options",
  });
  const proposed = proposalPayloadOf(work);
  const { change } = proposed;
  if ("quarantine" in change) {
    return adoptQuarantine(workspace, keeper, { work, change, reason: proposed.reason });
  }
  await requireKeeper(workspace, keeper.agent);
  await refuseExtended(workspace, work);
  try {
    const mark =
      (await findAdoption(workspace, work, proposed)) ??
      (await writeAdoption(workspace, keeper, { work, proposed, change, despite }));
    const summary = `${keeper.agent} adopted ${nameOf(change)}: version ${mark.version} of the shared context.`;
    const settled = await work.complete({ summary });
    return { kind: "adopted", ...mark, delivery: settled.delivery };
  } catch (error) {
    if (!isStale(error)) throw error;
    const settled = await work.decline(`Changed since it was proposed: ${error.message}`);
    return { kind: "stale", conflict: error, delivery: settled.delivery };
  }
}

interface ProposedQuarantine {
  readonly work: ProposalWork;
  readonly change: QuarantineProposal;
  readonly reason: string;
}

/**
 * Quarantines what accepted work proposes, with the rights of the adopter, and completes the work. Adopting
 * it again after a crash finds the memories quarantined.
 */
async function adoptQuarantine(
  workspace: Workspace,
  keeper: Worker,
  { work, change, reason }: ProposedQuarantine,
): Promise<AdoptResult> {
  await refuseExtended(workspace, work);
  const { quarantine: what, downstream = false } = change;
  const done = await quarantine(workspace, keeper, what, { reason, downstream });
  const count = done.memories.length + done.already.length + done.hidden;
  const summary = `${keeper.agent} quarantined ${count} ${count === 1 ? "memory" : "memories"}, as ${work.envelope.from.agent} proposed.`;
  const settled = await work.complete({ summary });
  return { kind: "quarantined", quarantine: done, delivery: settled.delivery };
}

/**
 * Throws `work_extended` for extended work: completing it throws and loads the new envelope, before anything
 * is written.
 */
async function refuseExtended({ store, name }: Workspace, work: ProposalWork): Promise<void> {
  const found = await store.findDelivery(name, work.id);
  if (found === undefined || found.envelope.id === work.envelope.id) return;
  if (found.delivery.settledAt !== 0) return;
  await work.complete();
  throw new Error("extended work was completed with its old envelope");
}

/** Returns true if the item the proposal is based on was changed or retired. */
const isStale = (error: unknown): error is BatonError =>
  isBatonError(error) && (error.code === "context_conflict" || error.code === "not_in_context");

function proposalPayloadOf({ envelope, id }: ProposalWork): ProposalPayload {
  const { payload } = envelope;
  if (payload?.type === CONTEXT_CHANGE_TYPE) {
    return parseOrThrow(ProposalPayloadSchema, payload.data, {
      code: "invalid_payload",
      what: "The proposal",
      prefix: "payload.data",
    });
  }
  throw new BatonError("invalid_input", {
    message: `${id} is not a proposal for the shared context.`,
    path: "work",
    hint: `Pass work with a payload of type ${CONTEXT_CHANGE_TYPE}, as agent.context.propose() sends it.`,
  });
}

/**
 * Names the entry by the proposed change, not by the envelope, because another envelope may contain the same
 * change.
 */
function adoptionEntryName({ id }: ProposalWork, proposed: ProposalPayload): EntryName {
  const digest = sha256(canonicalJson(proposed, "invalid_input"));
  return { kind: ADOPTED, name: canonicalJson([id, digest], "invalid_input") };
}

async function findAdoption(
  { store, name }: Workspace,
  work: ProposalWork,
  proposed: ProposalPayload,
) {
  const mark = adoptionEntryName(work, proposed);
  return entryValue<StoredAdoption>(await store.findEntry(name, mark.kind, mark.name));
}

async function writeAdoption(
  workspace: Workspace,
  keeper: Worker,
  {
    work,
    proposed,
    change,
    despite,
  }: {
    readonly work: ProposalWork;
    readonly proposed: ProposalPayload;
    readonly change: ItemProposal;
    readonly despite: readonly string[] | undefined;
  },
): Promise<StoredAdoption> {
  const { basedOn, reason } = proposed;
  const wanted: ItemChange =
    "retire" in change ? { kind: "retired", item: change, reason } : { kind: "set", item: change };
  const fence = Number(work.handle.slice(work.handle.lastIndexOf("#") + 1));
  const { leaseMs } = workspace.limits;
  const lease = { delivery: work.id, fence, envelope: work.envelope.id, leaseMs };
  const { version, memory } = await writeItemChange(workspace, keeper, wanted, {
    basedOn,
    despite,
    reason: `Proposed by ${work.envelope.from.agent}: ${reason}`,
    under: {
      lease,
      entry: (mark) => ({
        ...adoptionEntryName(work, proposed),
        value: toEntryText(mark),
        basedOn: 0,
      }),
    },
  });
  return { version, memory };
}
