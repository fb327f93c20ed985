/** A failure as whoever decides about it sees it. */

import type { Envelope } from "../../envelope/schema.ts";
import { listDecisions, type StoredFailureDecision } from "../../history/failure-decisions.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { isHeld, isOpen } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { FailureSnapshot } from "./find-failure.ts";

export interface FailureInfo {
  readonly task: string;
  /** What was given up, and after which try. */
  readonly delivery: string;
  readonly attempt: number;
  /** What went wrong, what was attempted, how often, and what might mend it. */
  readonly failure: NonNullable<Envelope["failure"]>;
  readonly intent: string;
  /** Who handed it over, and who was to do it: an agent, or role:…. */
  readonly from: string;
  readonly receiver: string;
  /** The role of that agent, or the role it was sent to. */
  readonly role?: string;
  readonly reportedAt: number;
  /** The delivery of the report, and who has it now; nobody, where it was closed. */
  readonly report?: string | undefined;
  readonly with?: string | undefined;
  /** Who was asked to decide. */
  readonly asked: readonly string[];
  /** What was decided about the same delivery before. */
  readonly before: readonly StoredFailureDecision[];
  readonly decision?: StoredFailureDecision | undefined;
}

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
