/**
 * Performs handoffs: sends them, reports those whose line exceeds the hop limit, and opens joins they unblock.
 */
import * as z from "zod";
import { AgentName, type DraftOf, Slug } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { refuseUndecided } from "../../history/failure-decisions.ts";
import { isQueued } from "../../store/parse-envelope.ts";
import type { LeaseRefusal } from "../../store/store.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";
import { openJoinsOf } from "../due/join.ts";
import { deadLetterOverHopLimit } from "../due/report-dead-letter.ts";
import { isGivenUp } from "../settings/policy.ts";
import type { SentHandoff } from "./idempotency-key.ts";
import type { Sender, SendOptions } from "./plan.ts";
import { ResultSchema } from "./result.ts";
import { sendHandoff } from "./send.ts";
import { sendHandoffs } from "./send-many.ts";

/** Options besides the draft. Waiting for other handoffs is not among them: see join-handoffs.ts. */
const SendOptionsSchema = z.strictObject({
  completes: ResultSchema.optional(),
  receivers: z.array(AgentName).optional(),
  result: Slug.optional(),
});

/** Sends a handoff and runs what follows. Returns the refusal if the lease of the sender's work was lost. */
export async function performHandoff<T>(
  workspace: Workspace,
  sender: Sender,
  draft: DraftOf<T>,
  sending: Omit<SendOptions, "joins"> = {},
): Promise<SentHandoff<T> | LeaseRefusal> {
  const checked = parseOrThrow(SendOptionsSchema, sending, {
    code: "invalid_input",
    what: "The options",
  });
  const { envelope, lease } = sender.work ?? {};
  if (envelope?.failure && lease) await refuseUndecided(workspace, envelope.failure, lease);
  const outcome = await sendHandoff<T>(workspace, sender, draft, checked);
  if (outcome.kind === "sent") await afterSending(workspace, outcome);
  return outcome;
}

/** Sends several handoffs, all or none, and runs what follows. */
export async function performHandoffs<T>(
  workspace: Workspace,
  sender: Sender,
  drafts: readonly DraftOf<T>[],
): Promise<SentHandoff<T>[]> {
  const sent = await sendHandoffs<T>(workspace, sender, drafts);
  for (const each of sent) await afterSending(workspace, each);
  return sent;
}

async function afterSending<T>(
  workspace: Workspace,
  { deliveries, replaced, stopped }: SentHandoff<T>,
): Promise<void> {
  for (const { id } of stopped ? deliveries : []) {
    await runFollowUp(`report ${id}`, () => reportStopped(workspace, id));
  }
  if (replaced !== undefined && replaced.followers !== "") {
    await runFollowUp(`join ${replaced.id}`, () => openJoinsOf(workspace, replaced));
  }
}

/** Dead-letters a delivery over the hop limit; a coordinator is notified first. */
async function reportStopped(workspace: Workspace, id: string): Promise<void> {
  const stopped = await workspace.store.findDelivery(workspace.name, id);
  if (stopped !== undefined && isGivenUp(stopped.delivery)) {
    await deadLetterOverHopLimit(onMainBranch(workspace), stopped);
  }
}

/** Runs what follows when work was handed on: opens joins that waited for it, and updates its queued task. */
export async function afterHandingOn(workspace: Workspace, settled: string): Promise<void> {
  await runFollowUp(`join ${settled}`, async () => {
    const found = await workspace.store.findDelivery(workspace.name, settled);
    if (found !== undefined) await openJoinsOf(workspace, found.delivery);
    if (found !== undefined && isQueued(found.envelope)) {
      await workspace.duties.ended(workspace, found.delivery);
    }
  });
}
