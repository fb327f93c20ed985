/**
 * Decides about a failure on behalf of an agent with the role coordinator, the receiver of the report, or the
 * hub. Of two concurrent decisions one stands, and the other caller gets it as the result.
 */

import { clip } from "../../base/clip.ts";
import { BatonError, isBatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { processDue } from "../../delivery/due/process-due.ts";
import { cancelDeliveries } from "../../delivery/settle/cancel.ts";
import { deliveryOf } from "../../history/delivery.ts";
import { findDecision } from "../../history/failure-decisions.ts";
import type { StoredClosing } from "../../memory/stored-ledger.ts";
import { isHeld } from "../../store/rows.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";
import { findTaskLedger } from "../tasks/read.ts";
import {
  applyDecision,
  closeReport,
  type Decider,
  type FinalDecision,
  finishDecision,
} from "./apply.ts";
import { askForDecision } from "./ask.ts";
import { COORDINATOR } from "./coordinators.ts";
import {
  type CheckedDecision,
  checkDecision,
  type DecideResult,
  type Decision,
} from "./decision.ts";
import {
  deleteFailureEntry,
  type FailureSnapshot,
  failureStatusOf,
  findFailure,
  findFailureByAttempt,
} from "./find-failure.ts";

/**
 * Decides about a failure, by the delivery that was given up or the delivery of its report. Throws
 * `not_permitted`, `unknown_delivery`, and `not_open` if there is nothing to decide.
 */
export async function decide(
  workspace: Workspace,
  decider: Decider,
  id: string,
  decision: Decision,
): Promise<DecideResult> {
  const checked = checkDecision(decision);
  const trunk = onMainBranch(workspace);
  const first = await findFailure(trunk, id);
  await requireDecisionPermission(trunk, decider, first);
  // It may still be in the process of being given up: the report is sent before the delivery is
  // dead-lettered.
  if (failureStatusOf(first, workspace.clock.now()) === "pending") await processDue(workspace);
  return retryWrite({ what: "The failure was changed" }, async () => {
    const found = await findFailureByAttempt(trunk, first.of);
    const answer = await decideOnce(trunk, decider, found, checked);
    return answer ?? RETRY;
  });
}

/** Makes a decision once. Returns undefined if the failure has changed meanwhile. */
export async function decideOnce(
  workspace: Workspace,
  decider: Decider,
  found: FailureSnapshot,
  decision: CheckedDecision,
): Promise<DecideResult | undefined> {
  const before = found.decision;
  if (before !== undefined) {
    await finishDecision(workspace, decider, found, before);
    return { kind: "already", ...before };
  }
  if (!(await isUndecided(workspace, found))) {
    return withdrawReport(workspace, decider, found);
  }
  if (decision.decision === "ask") {
    const who = await askForDecision(workspace, decider.author, found, decision);
    if (who === undefined) return undefined;
    return { kind: "asked", who, report: found.report?.delivery.id ?? "" };
  }
  const kept = await applyDecision(workspace, decider, found, decision as FinalDecision).catch(
    ignoreTaskClosed,
  );
  if (kept === undefined) return undefined;
  await finishDecision(workspace, decider, found, kept);
  const { failed } = await findFailureByAttempt(workspace, found.of);
  return { kind: "decided", ...kept, delivery: deliveryOf(failed.delivery) };
}

/** The task was closed meanwhile, most likely by a decision: read it again. */
function ignoreTaskClosed(error: unknown): undefined {
  if (!isBatonError(error) || error.code !== "task_closed") throw error;
}

/** Returns true if the delivery is still given up and its task is neither closed nor being ended. */
async function isUndecided(workspace: Workspace, found: FailureSnapshot): Promise<boolean> {
  if (failureStatusOf(found, workspace.clock.now()) !== "given_up") return false;
  return (await endingOf(workspace, found.failed.delivery.task)) === undefined;
}

async function endingOf(
  workspace: Workspace,
  task: string,
): Promise<Pick<StoredClosing, "as" | "by" | "reason"> | undefined> {
  const { kept } = (await findTaskLedger(workspace, task)) ?? {};
  return kept?.closed ?? kept?.ending;
}

/** Closes the report of a failure that no longer needs a decision. */
export async function withdrawReport(
  workspace: Workspace,
  decider: Decider,
  found: FailureSnapshot,
): Promise<DecideResult> {
  const { of, failed, report } = found;
  const { delivery } = failed;
  // The failure was read in several steps: a decision may have been made in between.
  const decision = await findDecision(workspace, of);
  if (decision !== undefined) {
    await finishDecision(workspace, decider, found, decision);
    return { kind: "already", ...decision };
  }
  if (report === undefined) throw notGivenUp(delivery.id, delivery.state);
  const standing = failureStatusOf(found, workspace.clock.now());
  if (standing === "given_up") {
    // Its task was ended or is being ended, which also decides this; the cancelled report states so.
    const ending = await endingOf(workspace, delivery.task);
    const how = ending ? ` as ${ending.as} by ${ending.by}: ${ending.reason}` : "";
    const why = clip(`Task "${delivery.task}" was closed${how}`, FORMAT_LIMITS.textLength);
    await cancelDeliveries(workspace, decider.author, [report.delivery.id], why);
    return { kind: "settled", delivery: deliveryOf(delivery) };
  }
  const why = `no decision is needed: ${of.delivery} is ${delivery.state} after attempt ${delivery.attempt}`;
  await closeReport(workspace, decider, report, why);
  if (standing !== "pending") await deleteFailureEntry(workspace, of);
  return { kind: "settled", delivery: deliveryOf(delivery) };
}

function notGivenUp(delivery: string, state: string): BatonError {
  return new BatonError("not_open", {
    message: `${delivery} is ${state} and was not given up, so there is nothing to decide.`,
    path: "delivery",
    hint: "List the failures that wait for a decision with agent.failures.list().",
    details: { delivery, state },
  });
}

async function requireDecisionPermission(
  { store, name }: Workspace,
  { author: { agent } }: Decider,
  { of, report }: FailureSnapshot,
): Promise<void> {
  const holder = report && isHeld(report.delivery.state) ? report.delivery.holder : "";
  if (agent === holder || agent === report?.delivery.receiver) return;
  // The current role of the agent, not the one at the start of its session.
  const registered = await store.findAgent(name, agent);
  if (registered?.role === COORDINATOR) return;
  throw new BatonError("not_permitted", {
    message: `"${agent}" may not decide about ${of.delivery}: only the role "${COORDINATOR}" and the receiver of the report may.`,
    path: "delivery",
    hint: `Register the agent with that role (hub.agent("${agent}", { role: "${COORDINATOR}" })), or ask a coordinator.`,
    details: { ...of, agent },
  });
}
