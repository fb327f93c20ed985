/**
 * The hub as coordinator: what nobody else decides about in time, it does. Called by whoever carries out
 * policies, as often as it takes: a decision that was made and not carried out is finished first.
 */
import { clip } from "../../base/clip.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { lookLater } from "../../delivery/due/open.ts";
import { SYSTEM } from "../../memory/agents.ts";
import { systemAuthor } from "../../memory/system-author.ts";
import { isOpen } from "../../store/rows.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import { trunkOf, type Workspace } from "../../workspace/workspace.ts";
import { type Decider, finish } from "./apply.ts";
import { decideOnce, withdraw } from "./decide.ts";
import type { CheckedDecision, DecisionAnswer } from "./decision.ts";
import { type Found, findFailure, findTry, standingOf } from "./found.ts";
import { infoOf } from "./info.ts";
import { type CoordinateFunction, isRefusal, proposals } from "./proposals.ts";

export async function coordinate(
  workspace: Workspace,
  report: string,
  consult?: CoordinateFunction,
): Promise<void> {
  const trunk = trunkOf(workspace);
  const found = await findFailure(trunk, report);
  if (found.report === undefined || !isOpen(found.report.delivery.state)) return;
  const { delivery } = found.report;
  const hub = { author: await systemAuthor(trunk) };
  if (found.decision !== undefined) return finish(trunk, hub, found, found.decision);
  switch (standingOf(found, workspace.clock.now())) {
    case "over":
      await withdraw(trunk, hub, found);
      return;
    case "pending": // Whoever gives it up comes back to this; if nobody does, it is looked at again.
      if (delivery.receiver === SYSTEM) await lookLater(trunk, delivery);
      return;
    case "given_up":
      if (delivery.receiver === SYSTEM) await decideAsHub(trunk, hub, found, consult);
  }
}

async function decideAsHub(
  workspace: Workspace,
  hub: Decider,
  found: Found,
  consult: CoordinateFunction | undefined,
): Promise<void> {
  const passedOver: string[] = [];
  const info = await infoOf(workspace, found);
  for await (const proposal of proposals(workspace, info, consult)) {
    if ("passedOver" in proposal) {
      passedOver.push(`${proposal.source}: ${proposal.passedOver}`);
      continue;
    }
    const { decision } = proposal;
    const reason = withPassedOver(decision.reason, passedOver);
    try {
      await decideNow(workspace, hub, found, { ...decision, reason });
      return;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      passedOver.push(`${proposal.source}: ${error.message}`);
    }
  }
  const why = passedOver.join("; ");
  const last = {
    decision: "abort",
    reason: clip(`Nothing else can be done: ${why}`, LONGEST),
  } as const;
  await decideNow(workspace, hub, found, last);
}

const LONGEST = FORMAT_LIMITS.textLength;

/** What could not be done instead stands with the decision. */
const withPassedOver = (reason: string, passedOver: readonly string[]): string =>
  passedOver.length === 0
    ? reason
    : clip(`${reason} (passed over: ${passedOver.join("; ")})`, LONGEST);

async function decideNow(
  workspace: Workspace,
  hub: Decider,
  first: Found,
  decision: CheckedDecision,
): Promise<DecisionAnswer> {
  let found = first;
  return retryWrite({ what: "The hub's decision was overtaken" }, async () => {
    const answer = await decideOnce(workspace, hub, found, decision);
    if (answer !== undefined) return answer;
    found = await findTry(workspace, first.of);
    return RETRY;
  });
}
