/**
 * Accepting: the receiver takes the work, under a lease, and its first record on the chain
 * continues from the handoff. Of an offer it claimed before, or claiming implicitly.
 */
import type { Envelope } from "../envelope/schema.ts";
import { type Author, writeRecord } from "../memory/record.ts";
import { refusalError } from "../memory/refusals.ts";
import type { EnvelopeRow, NewMemory } from "../store/rows.ts";
import type { Claimed } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import { type ClaimRequest, claim } from "./claim.ts";
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
      memory: acceptRecord(workspace, receiver, envelope),
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
  which: Pick<ClaimRequest, "task" | "delivery">,
): Promise<Claimed | undefined> {
  const { claimed } = await claim(workspace, receiver, {
    ...which,
    limit: 1,
    accept: ({ envelope }) => acceptRecord(workspace, receiver, envelope),
  });
  return claimed[0];
}

function acceptRecord(workspace: Workspace, receiver: Author, row: EnvelopeRow): NewMemory {
  const { ids, clock, limits } = workspace;
  return writeRecord(
    receiver,
    {
      type: "checkpoint",
      task: row.task,
      content: `${receiver.agent} accepted the handoff of "${row.task}" from ${row.sender}.`,
      data: { accepted: row.id },
      relations: [{ kind: "continues-from", to: row.memory }],
    },
    { ids, now: clock.now(), limits },
  ).record;
}

export function parseEnvelope(row: EnvelopeRow): Envelope {
  return JSON.parse(row.text) as Envelope;
}
