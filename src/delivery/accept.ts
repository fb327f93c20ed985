/**
 * Accepting: the receiver takes the work, under a lease, and its first record on the chain
 * continues from the handoff. Of an offer it claimed before, or claiming implicitly.
 */
import * as z from "zod";
import { DeliveryId, type Envelope, Name } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { type Author, writeRecord } from "../memory/record.ts";
import { refusalError } from "../memory/refusals.ts";
import { type EnvelopeRow, type NewMemory, parseText } from "../store/rows.ts";
import type { Claimed } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import { leaseLost } from "./lease.ts";
import { lookOut } from "./lookout.ts";
import type { Worker } from "./worker.ts";

const AcceptSchema = z.strictObject({
  /** This one, by its id. */
  delivery: DeliveryId.optional(),
  /** Ends the wait. */
  signal: z.instanceof(AbortSignal).optional(),
  /** Only a handoff of this task. */
  task: Name.optional(),
  /** True: when nothing is ready, wait until something is. */
  wait: z.boolean().default(false),
});

export type AcceptOptions = z.input<typeof AcceptSchema>;

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
  receiver: Worker,
  options: AcceptOptions,
): Promise<Claimed | undefined> {
  const { delivery, task, wait, signal } = parseOr(AcceptSchema, options, {
    code: "invalid_input",
    what: "The choice",
    unwritten: "signal",
  });
  const accept = (taken: Claimed): NewMemory => acceptRecord(workspace, receiver, taken);
  return lookOut(workspace, receiver, { delivery, task, accept }, { wait, signal });
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
