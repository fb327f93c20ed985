/**
 * Accepting: the receiver takes the work, under a lease, and its first record on the chain
 * continues from the handoff. Of an offer it claimed before, or claiming implicitly.
 */
import type { Envelope } from "../envelope/schema.ts";
import { type Author, writeRecord } from "../memory/record.ts";
import { refusalError } from "../memory/refusals.ts";
import { type EnvelopeRow, type NewMemory, parseText } from "../store/rows.ts";
import type { Claimed } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import { checkWhich, claim, type Which } from "./claim.ts";
import { leaseLost } from "./lease.ts";

/** Accepts an offer. If the sender added to it meanwhile, the newer envelope is accepted. */
export async function acceptOffer(
  workspace: Workspace,
  receiver: Author,
  offered: Claimed,
): Promise<Claimed> {
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
      memory: acceptRecord(workspace, receiver, { delivery: offered.delivery, envelope }),
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

/** Claims and accepts the oldest delivery that fits, in one operation; undefined if there is none. */
export async function acceptNext(
  workspace: Workspace,
  receiver: Author,
  which: Which,
): Promise<Claimed | undefined> {
  const { claimed } = await claim(workspace, receiver, {
    ...checkWhich(which),
    limit: 1,
    accept: (taken) => acceptRecord(workspace, receiver, taken),
  });
  return claimed[0];
}

function acceptRecord(
  workspace: Workspace,
  receiver: Author,
  { delivery, envelope }: Claimed,
): NewMemory {
  const { ids, clock, limits } = workspace;
  const trail = [{ attempt: delivery.attempt, delivery: delivery.id, verb: "accept" as const }];
  return writeRecord(
    receiver,
    {
      type: "checkpoint",
      task: envelope.task,
      content: `${receiver.agent} accepted the handoff of "${envelope.task}" from ${envelope.sender}.`,
      relations: [{ kind: "continues-from", to: envelope.memory }],
    },
    { ids, now: clock.now(), limits, hallmark: { trail } },
  ).record;
}

export function parseEnvelope(row: EnvelopeRow): Envelope {
  return parseText<Envelope>(row);
}
