/**
 * Decides about failures as the hub: those that no coordinator decides in time. Called while due deliveries
 * are processed, as often as necessary; a decision that was made and not carried out is completed first.
 */
import { clip } from "../../base/clip.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { scheduleRecheck } from "../../delivery/due/open-delivery.ts";
import { SYSTEM, systemAuthor } from "../../memory/system-author.ts";
import { isOpen } from "../../store/rows.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";
import { type Decider, finishDecision } from "./apply.ts";
import { decideOnce, withdrawReport } from "./decide.ts";
import type { CheckedDecision, DecideResult } from "./decision.ts";
import {
  type FailureSnapshot,
  failureStatusOf,
  findFailure,
  findFailureByAttempt,
} from "./find-failure.ts";
import { failureInfoOf } from "./info.ts";
import { type CoordinateFunction, isRefusal, proposeDecisions } from "./proposals.ts";

/**
 * Decides about the failure of a report, if it is due and no other agent has. `consult`: the hub's
 * `coordinate` option.
 */
export async function coordinate(
  workspace: Workspace,
  report: string,
  consult?: CoordinateFunction,
): Promise<void> {
  const trunk = onMainBranch(workspace);
  const found = await findFailure(trunk, report);
  if (found.report === undefined || !isOpen(found.report.delivery.state)) return;
  const { delivery } = found.report;
  const hub = { author: await systemAuthor(trunk) };
  if (found.decision !== undefined) return finishDecision(trunk, hub, found, found.decision);
  switch (failureStatusOf(found, workspace.clock.now())) {
    case "over":
      await withdrawReport(trunk, hub, found);
      return;
    case "pending": // The process that gives it up calls this again; otherwise it is checked again later.
      if (delivery.receiver === SYSTEM) await scheduleRecheck(trunk, delivery);
      return;
    case "given_up":
      if (delivery.receiver === SYSTEM) await decideAsHub(trunk, hub, found, consult);
  }
}

async function decideAsHub(
  workspace: Workspace,
  hub: Decider,
  found: FailureSnapshot,
  consult: CoordinateFunction | undefined,
): Promise<void> {
  const passedOver: string[] = [];
  const info = await failureInfoOf(workspace, found);
  for await (const proposal of proposeDecisions(workspace, info, consult)) {
    if ("passedOver" in proposal) {
      passedOver.push(`${proposal.source}: ${proposal.passedOver}`);
      continue;
    }
    const { decision } = proposal;
    const reason = withSkipReasons(decision.reason, passedOver);
    try {
      await decideWithRetry(workspace, hub, found, { ...decision, reason });
      return;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      passedOver.push(`${proposal.source}: ${error.message}`);
    }
  }
  const why = passedOver.join("; ");
  const last = {
    decision: "abort",
    reason: clip(`No other decision could be carried out: ${why}`, LONGEST),
  } as const;
  await decideWithRetry(workspace, hub, found, last);
}

const LONGEST = FORMAT_LIMITS.textLength;

/** Adds to the reason which decisions could not be carried out. */
const withSkipReasons = (reason: string, passedOver: readonly string[]): string =>
  passedOver.length === 0 ? reason : clip(`${reason} (skipped: ${passedOver.join("; ")})`, LONGEST);

async function decideWithRetry(
  workspace: Workspace,
  hub: Decider,
  first: FailureSnapshot,
  decision: CheckedDecision,
): Promise<DecideResult> {
  let found = first;
  return retryWrite({ what: "The failure was changed" }, async () => {
    const answer = await decideOnce(workspace, hub, found, decision);
    if (answer !== undefined) return answer;
    found = await findFailureByAttempt(workspace, first.of);
    return RETRY;
  });
}
