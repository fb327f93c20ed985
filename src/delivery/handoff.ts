/** Handing over: sending, and what follows when the line has become too long. */
import * as z from "zod";
import { AgentName, type DraftOf, type Envelope, Slug } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import type { LeaseRefusal } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import { escalate } from "./escalate.ts";
import { followUp } from "./follow-up.ts";
import { openJoinsOf } from "./join.ts";
import type { SentHandoff } from "./key.ts";
import type { Sender, Sending } from "./plan.ts";
import { ResultSchema } from "./result.ts";
import { sendHandoff } from "./send.ts";

/** What may be said besides the draft. What it waits for is said by joining. */
const SendingSchema = z.strictObject({
  completes: ResultSchema.optional(),
  receivers: z.array(AgentName).optional(),
  result: Slug.optional(),
});

export async function handOver<T>(
  workspace: Workspace,
  sender: Sender,
  draft: DraftOf<T>,
  sending: Omit<Sending, "joins"> = {},
): Promise<SentHandoff<T> | LeaseRefusal> {
  const checked = parseOr(SendingSchema, sending, { code: "invalid_input", what: "The options" });
  const outcome = await sendHandoff<T>(workspace, sender, draft, checked);
  if (outcome.kind !== "sent") return outcome;
  const [delivery] = outcome.deliveries;
  const { replaced, stopped } = outcome;
  const envelope = outcome.envelope as Envelope;
  if (stopped && delivery !== undefined) {
    const reason = `hop ${envelope.hop} is past the limit of ${workspace.limits.hops}: the line has stopped`;
    await followUp(`escalate ${delivery.id}`, () =>
      escalate(workspace, envelope, { delivery, reason }),
    );
  }
  if (replaced !== undefined && replaced.followers !== "") {
    await followUp(`join ${replaced.id}`, () => openJoinsOf(workspace, replaced));
  }
  return outcome;
}

/** The work that was handed on has ended here: what waited for it may go on. */
export async function afterHandingOn(workspace: Workspace, settled: string): Promise<void> {
  await followUp(`join ${settled}`, async () => {
    const found = await workspace.store.findDelivery(workspace.name, settled);
    if (found !== undefined) await openJoinsOf(workspace, found.delivery);
  });
}
