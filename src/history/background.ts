/** What happened before an agent claimed a delivery: earlier attempts, and progress on the task's ledger. */
import { type LedgerProgress, resolveLedger } from "../ledger/ledger.ts";
import { continuesLine } from "../store/parse-envelope.ts";
import type { DeliveryWithEnvelopeRow } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { type EarlierAttempt, earlierAttempts, wasClaimedBefore } from "./earlier-attempts.ts";

/** The background of one delivery. */
export interface Background {
  /** Earlier attempts at this delivery, oldest first. */
  readonly attempts: readonly EarlierAttempt[];
  /** What earlier handoffs of the task reported as done, not to be redone, or blocked, oldest first. */
  readonly progress: readonly LedgerProgress[];
}

/** The background of a first attempt at a first handoff. */
export const NO_BACKGROUND: Background = { attempts: [], progress: [] };

/** Reads the background of a delivery. A first attempt at a first handoff needs no query. */
export async function backgroundOf(
  workspace: Workspace,
  claimed: DeliveryWithEnvelopeRow,
): Promise<Background> {
  const { delivery, envelope } = claimed;
  const continues = continuesLine(envelope);
  if (!wasClaimedBefore(delivery) && !continues) return NO_BACKGROUND;
  const [attempts, progress] = await Promise.all([
    earlierAttempts(workspace, claimed),
    continues ? progressBefore(workspace, claimed) : [],
  ]);
  return { attempts, progress };
}

/** Progress that the envelope itself reports is omitted. */
async function progressBefore(
  workspace: Workspace,
  { envelope }: DeliveryWithEnvelopeRow,
): Promise<readonly LedgerProgress[]> {
  const { progress } = await resolveLedger(workspace, envelope.task);
  return progress.filter((each) => each.envelope !== envelope.id);
}
