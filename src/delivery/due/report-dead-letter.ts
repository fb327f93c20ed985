/**
 * Giving a delivery up where somebody decides about that: they are told first, then it is parked. So a
 * crash in between loses nothing (it is due still, and telling again is the same report), and nothing
 * is parked that nobody hears of.
 */
import { canonicalJson } from "../../base/digest.ts";
import { SYSTEM } from "../../memory/agents.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import type { GiveUpDetails, Workspace } from "../../workspace/workspace.ts";
import { hopLimitReason } from "../settings/line-path.ts";
import { guardOf, moveDeliveries } from "./moves.ts";

/** Parks it; false when it had changed meanwhile: then the report is taken back. */
export async function reportThenDeadLetter(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  ended: GiveUpDetails,
  park: () => Promise<boolean>,
): Promise<boolean> {
  const { duties } = workspace;
  const envelope = parseEnvelope(workspace, due.envelope);
  if (!(await duties.isCoordinated(workspace, envelope))) return park();
  const report = await duties.report(workspace, due, ended);
  const isParked = await park();
  await runFollowUp(`coordinate ${report}`, () => duties.coordinate(workspace, report));
  return isParked;
}

/** Parks one that waits for others before anybody could try: it will never open. `reason` as JSON. */
export async function deadLetterStopped(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  reason: string,
): Promise<void> {
  const { delivery } = due;
  const ends = { outcome: "stopped", reason } as const;
  const move = {
    delivery: delivery.id,
    seen: guardOf(delivery),
    to: "dead",
    event: "dead",
  } as const;
  await reportThenDeadLetter(workspace, due, { attempt: delivery.attempt + 1, ends }, async () => {
    const moves = [{ ...move, ends }];
    return (await moveDeliveries(workspace, { agent: SYSTEM, moves })) !== undefined;
  });
}

/** A line that is longer than it may be: parked before anybody could try. */
export async function deadLetterOverHopLimit(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
): Promise<void> {
  const reason = hopLimitReason(parseEnvelope(workspace, due.envelope), workspace.limits.hops);
  await deadLetterStopped(workspace, due, canonicalJson(reason, "invalid_input"));
}
