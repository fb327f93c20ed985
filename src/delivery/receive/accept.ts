/**
 * Accepts work: an offer that was claimed before, or the next delivery, claimed and accepted in one
 * operation. The receiver holds the work under a lease, and its first record on the chain continues from the
 * handoff.
 */

import { maskSecrets } from "../../envelope/mask-secrets.ts";
import { leaseLost } from "../../history/lease-lost.ts";
import { type Author, writeRecord } from "../../memory/record.ts";
import { secretFoundError, secretPolicy } from "../../memory/redaction/secret-policy.ts";
import { refusalError } from "../../memory/refusals.ts";
import { needsReceipt, parseEnvelope } from "../../store/parse-envelope.ts";
import type { EnvelopeRow, NewMemory } from "../../store/rows.ts";
import type { ClaimNext, DeliveryWithEnvelopeRow } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { inboxesOf } from "../watch/inbox-listing.ts";
import { isUnreadable, listReadableDeliveries } from "../watch/unreadable-envelopes.ts";
import { claimFields } from "./claim.ts";
import { type CheckedReceipt, type ReceiptSource, receiptFor } from "./receipt.ts";
import { type AcceptOptions, checkAcceptOptions } from "./receive-options.ts";
import { waitForDelivery } from "./wait-for-delivery.ts";
import type { Worker } from "./worker.ts";

/**
 * Accepts an offer. If the sender extended it meanwhile, the newer envelope is accepted. Throws `lease_lost`,
 * and `receipt_required` if the envelope needs a receipt.
 */
export async function acceptOffer(
  workspace: Workspace,
  receiver: Author,
  offered: DeliveryWithEnvelopeRow,
  receipt?: ReceiptSource,
): Promise<DeliveryWithEnvelopeRow> {
  const redacted = await redactReceipt(workspace, receipt);
  let { envelope } = offered;
  for (;;) {
    const outcome = await workspace.store.acceptDelivery({
      workspace: workspace.name,
      branch: workspace.branch,
      lease: {
        delivery: offered.delivery.id,
        fence: offered.delivery.fence,
        envelope: envelope.id,
        leaseMs: workspace.limits.leaseMs,
      },
      memory: acceptRecord(workspace, receiver, { delivery: offered.delivery, envelope }, redacted),
    });
    switch (outcome.kind) {
      case "accepted":
        return { delivery: outcome.delivery, envelope };
      case "extended":
        envelope = outcome.envelope;
        break;
      case "lease_lost":
        throw leaseLost(offered.delivery.id, outcome.delivery);
      default:
        throw await refusalError(workspace, outcome);
    }
  }
}

/**
 * Claims and accepts the oldest matching delivery in one operation; undefined if there is none. Skips
 * deliveries that this version cannot read, and throws `unsupported_version` if there is nothing else.
 */
export async function acceptNext(
  workspace: Workspace,
  receiver: Worker,
  options: AcceptOptions,
): Promise<DeliveryWithEnvelopeRow | undefined> {
  const { delivery, task, wait, signal, ...rest } = checkAcceptOptions(options);
  const receipt = rest.receipt && (await redactReceipt(workspace, rest.receipt));
  const accept = (taken: DeliveryWithEnvelopeRow): NewMemory =>
    acceptRecord(workspace, receiver, taken, receipt);
  try {
    return await waitForDelivery(workspace, receiver, { delivery, task, accept }, { wait, signal });
  } catch (error) {
    if (delivery !== undefined || !isUnreadable(error)) throw error;
    // The first delivery in line cannot be read by this version; it must not block those after it.
    for (const next of await listReadableDeliveries(workspace, inboxesOf(receiver), task)) {
      const taken = await waitForDelivery(
        workspace,
        receiver,
        { delivery: next, task, accept },
        { wait: false },
      );
      if (taken !== undefined) return taken;
    }
    throw error;
  }
}

/** Returns the claim that accepts the next delivery in the transaction in which another one is completed. */
export async function nextClaim(
  workspace: Workspace,
  receiver: Worker,
  { task, receipt: source }: Pick<AcceptOptions, "receipt" | "task">,
): Promise<ClaimNext> {
  const receipt = source && (await redactReceipt(workspace, source));
  return {
    ...claimFields(workspace, receiver, { task }),
    accept: (taken) => acceptRecord(workspace, receiver, taken, receipt),
  };
}

/**
 * Applies the secret policy to a receipt. The policy is read beforehand, because the receipt is made while
 * the store holds the delivery.
 */
async function redactReceipt(
  workspace: Workspace,
  source: ReceiptSource | undefined,
): Promise<ReceiptSource | undefined> {
  if (source === undefined) return undefined;
  const mode = await secretPolicy(workspace);
  return (envelope) => {
    const receipt = typeof source === "function" ? source(envelope) : source;
    const { value, secrets } = maskSecrets({ receipt });
    if (secrets.length === 0 || mode === "allow") return receipt;
    if (mode === "refuse") throw secretFoundError(secrets);
    return value.receipt;
  };
}

function acceptRecord(
  workspace: Workspace,
  receiver: Author,
  { delivery, envelope }: DeliveryWithEnvelopeRow,
  source: ReceiptSource | undefined,
): NewMemory {
  const { ids, clock, limits, branch } = workspace;
  const receipt = receiptIfNeeded(workspace, envelope, source);
  const trail = [{ attempt: delivery.attempt, delivery: delivery.id, verb: "accept" as const }];
  return writeRecord(
    receiver,
    {
      type: "checkpoint",
      task: envelope.task,
      content: `${receiver.agent} accepted the handoff of "${envelope.task}" from ${envelope.sender}.`,
      ...(receipt && { data: { receipt } }),
      relations: [{ kind: "continues-from", to: envelope.memory }],
    },
    { ids, now: clock.now(), limits, branch, hallmark: { trail } },
  ).record;
}

/** Parses the envelope only if a receipt is required or given, because accepting is a hot path. */
function receiptIfNeeded(
  workspace: Workspace,
  envelope: EnvelopeRow,
  source: ReceiptSource | undefined,
): CheckedReceipt | undefined {
  if (source === undefined && !needsReceipt(workspace, envelope)) return undefined;
  return receiptFor(parseEnvelope(workspace, envelope), source);
}
