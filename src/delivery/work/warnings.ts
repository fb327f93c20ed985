/**
 * Warnings about work: what it carries that is quarantined, whenever that happened. They are computed from
 * the quarantine marks, so that no process has to be running when a record is quarantined, and that lifting
 * the quarantine ends them. A work carries what its envelope references, what earlier envelopes of the same
 * delivery referenced (the holder may have seen them), and what its holder was shown in a view.
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

/** A quarantined record that a work carries. */
export interface Warning extends QuarantineMark {
  /** Id of the quarantined record. */
  readonly memory: string;
}

/** Returns the warnings of a delivery; no further query if nothing in the workspace is quarantined. */
export async function warningsOf(
  workspace: Workspace,
  claimed: DeliveryWithEnvelopeRow,
): Promise<Warning[]> {
  if (!(await anyMarked(workspace))) return [];
  const marks = await marksOf(workspace, [...(await carriedBy(workspace, claimed))]);
  return [...marks].map(([memory, mark]) => ({ memory, ...mark }));
}

/** Returns the handoff records of a delivery, everything they summarize, and what its holder was shown. */
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
