/**
 * Warnings: what a piece of work carries that was quarantined, whenever that was. Computed from the
 * marks, so that nobody has to have been there when it happened, and that lifting ends them. A work
 * carries what its envelope refers to, what the envelopes before it did that came to the same delivery
 * (their holder may have seen those), and what its holder was shown in a view.
 */

import { handoffsTo, targetsOf } from "../../history/delivery-records.ts";
import {
  anyMarked,
  marksOf,
  type QuarantineMark,
} from "../../memory/quarantine/quarantine-mark.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { findShownRecords } from "./views.ts";

export interface Warning extends QuarantineMark {
  /** What was quarantined. */
  readonly memory: string;
}

export async function warningsOf(
  workspace: Workspace,
  claimed: DeliveryWithEnvelopeRow,
): Promise<Warning[]> {
  if (!(await anyMarked(workspace))) return [];
  const marks = await marksOf(workspace, [...(await carriedBy(workspace, claimed))]);
  return [...marks].map(([memory, mark]) => ({ memory, ...mark }));
}

/** The handoff records of a delivery, all they summarize, and what its holder was shown besides. */
async function carriedBy(
  workspace: Workspace,
  claimed: DeliveryWithEnvelopeRow,
): Promise<Set<string>> {
  const [handoffs, shown] = await Promise.all([
    handoffsTo(workspace, claimed),
    findShownRecords(workspace, claimed.delivery),
  ]);
  const carried = handoffs.flatMap((record) => [record.id, ...targetsOf(record, "summarizes")]);
  return new Set([...carried, ...shown.ids]);
}
