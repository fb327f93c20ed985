/**
 * Dead-letters deliveries. If a coordinator decides about failures, it is notified before the delivery is
 * dead-lettered. A crash in between therefore loses nothing (the delivery is still due, and reporting it
 * again yields the same report), and no dead letter goes unreported.
 */
import { canonicalJson } from "../../base/digest.ts";
import { SYSTEM } from "../../memory/system-author.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import type { GiveUpDetails, Workspace } from "../../workspace/workspace.ts";
import { hopLimitReason } from "../settings/line-path.ts";
import { guardOf, moveDeliveries } from "./moves.ts";

/**
 * Reports a failure, then dead-letters via `park`. False if the delivery changed; the report is then
 * withdrawn.
 */
export async function reportThenDeadLetter(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  ended: GiveUpDetails,
  park: () => Promise<boolean>,
): Promise<boolean> {
  const { duties, turn } = workspace;
  const envelope = parseEnvelope(workspace, due.envelope);
  if (!(await duties.isCoordinated(workspace, envelope))) return park();
  const write = () => duties.report(workspace, due, ended);
  const report = await (turn === undefined ? write() : turn.begin(write));
  const isParked = await park();
  await runFollowUp(`coordinate ${report}`, () => duties.coordinate(workspace, report));
  return isParked;
}

/** Dead-letters a waiting delivery that can never open, before its first attempt. `reason` is JSON. */
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

/** Dead-letters a line over the hop limit before its first attempt. */
export async function deadLetterOverHopLimit(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
): Promise<void> {
  const reason = hopLimitReason(parseEnvelope(workspace, due.envelope), workspace.limits.hops);
  await deadLetterStopped(workspace, due, canonicalJson(reason, "invalid_input"));
}
