/** `FailureInfo`: a failure as the agent that decides about it sees it. */

import type { Envelope } from "../../envelope/schema.ts";
import { listDecisions, type StoredFailureDecision } from "../../history/failure-decisions.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { isHeld, isOpen } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { FailureSnapshot } from "./find-failure.ts";

/** A failure. Times are in milliseconds since 1970. */
export interface FailureInfo {
  readonly task: string;
  /** The delivery that was given up, and after which attempt. */
  readonly delivery: string;
  readonly attempt: number;
  /** What went wrong, what was attempted, how often, and hints how to fix it. */
  readonly failure: NonNullable<Envelope["failure"]>;
  /** The intent of the handoff. */
  readonly intent: string;
  /** The sender, and the receiver: an agent or `role:…`. */
  readonly from: string;
  readonly receiver: string;
  /** The role of that agent, or the role it was sent to. */
  readonly role?: string;
  readonly reportedAt: number;
  /** The delivery of the report, and the agent that has it now; absent if the report was closed. */
  readonly report?: string | undefined;
  readonly with?: string | undefined;
  /** The agents that were asked to decide. */
  readonly asked: readonly string[];
  /** Earlier decisions about the same delivery. */
  readonly before: readonly StoredFailureDecision[];
  /** The decision; absent while it waits for one. */
  readonly decision?: StoredFailureDecision | undefined;
}

/** Returns the information about a failure that was read. */
export async function failureInfoOf(
  workspace: Workspace,
  found: FailureSnapshot,
): Promise<FailureInfo> {
  const { of, failed, failure, report, kept, decision } = found;
  const { delivery } = failed;
  const { from, intent } = parseEnvelope(workspace, failed.envelope);
  const all = await listDecisions(workspace, of.delivery);
  const open = report && isOpen(report.delivery.state) ? report.delivery : undefined;
  const receiver = isReroutedBy(decision) ? (failure.by ?? delivery.receiver) : delivery.receiver;
  const role = await roleOf(workspace, receiver);
  return {
    task: delivery.task,
    ...of,
    failure,
    intent,
    from: from.agent,
    receiver,
    ...(role === undefined ? {} : { role }),
    reportedAt: report?.delivery.sentAt ?? delivery.settledAt,
    ...(report && { report: report.delivery.id }),
    ...(open && { with: isHeld(open.state) ? open.holder : open.receiver }),
    asked: kept?.value.asked ?? [],
    before: all.filter(({ record }) => record !== decision?.record),
    ...(decision && { decision }),
  };
}

const isReroutedBy = (decision: StoredFailureDecision | undefined): boolean =>
  decision?.to !== undefined;

async function roleOf({ store, name }: Workspace, receiver: string): Promise<string | undefined> {
  const [, role] = /^role:(.*)$/s.exec(receiver) ?? [];
  return role ?? ((await store.findAgent(name, receiver))?.role || undefined);
}
