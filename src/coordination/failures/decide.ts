/**
 * Deciding about a failure, by whoever may: an agent with the role, whoever has the report, the hub. Of
 * two who decide one stands, and the other is told.
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
  // It may be on its way still: told first, then parked.
  if (failureStatusOf(first, workspace.clock.now()) === "pending") await processDue(workspace);
  return retryWrite({ what: "The decision was overtaken" }, async () => {
    const found = await findFailureByAttempt(trunk, first.of);
    const answer = await decideOnce(trunk, decider, found, checked);
    return answer ?? RETRY;
  });
}

/** Undefined: what it is about has changed meanwhile. */
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

/** Its task was closed meanwhile, most likely by a decision: look again. */
function ignoreTaskClosed(error: unknown): undefined {
  if (!isBatonError(error) || error.code !== "task_closed") throw error;
}

/** Whether it is given up still, and nobody has closed its task or is about to. */
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

/** There is nothing to decide any more: nobody is bothered with it. */
export async function withdrawReport(
  workspace: Workspace,
  decider: Decider,
  found: FailureSnapshot,
): Promise<DecideResult> {
  const { of, failed, report } = found;
  const { delivery } = failed;
  // It was read bit by bit: somebody may have decided in between, and this is what came of it.
  const decision = await findDecision(workspace, of);
  if (decision !== undefined) {
    await finishDecision(workspace, decider, found, decision);
    return { kind: "already", ...decision };
  }
  if (report === undefined) throw notGivenUp(delivery.id, delivery.state);
  const standing = failureStatusOf(found, workspace.clock.now());
  if (standing === "given_up") {
    // Its task was ended, or is being: so is this, and whoever takes the report back says so.
    const ending = await endingOf(workspace, delivery.task);
    const how = ending ? ` as ${ending.as} by ${ending.by}: ${ending.reason}` : "";
    const why = clip(`"${delivery.task}" was closed${how}`, FORMAT_LIMITS.textLength);
    await cancelDeliveries(workspace, decider.author, [report.delivery.id], why);
    return { kind: "settled", delivery: deliveryOf(delivery) };
  }
  const why = `there is nothing to decide about ${of.delivery}: it is ${delivery.state}, after try ${delivery.attempt}`;
  await closeReport(workspace, decider, report, why);
  if (standing !== "pending") await deleteFailureEntry(workspace, of);
  return { kind: "settled", delivery: deliveryOf(delivery) };
}

function notGivenUp(delivery: string, state: string): BatonError {
  return new BatonError("not_open", {
    message: `${delivery} is ${state}: nobody has given it up, so there is nothing to decide.`,
    path: "delivery",
    hint: "agent.failures.list() shows what waits for a decision.",
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
  // The role it has now, not the one it had when it began.
  const registered = await store.findAgent(name, agent);
  if (registered?.role === COORDINATOR) return;
  throw new BatonError("not_permitted", {
    message: `"${agent}" may not decide about ${of.delivery}: that is for the role "${COORDINATOR}", and for whoever was asked.`,
    path: "delivery",
    hint: `Take the role (hub.agent("${agent}", { role: "${COORDINATOR}" })), or ask whoever has it.`,
    details: { ...of, agent },
  });
}
