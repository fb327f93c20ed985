/**
 * Proposes decisions for the hub, in order, until one can be carried out: the `coordinate` function of the
 * hub, the failure rules, the default.
 */

import { isBatonError } from "../../base/errors.ts";
import { agentInfo } from "../../memory/agents.ts";
import { redactSecretsAfterwards } from "../../memory/redaction/secret-policy.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { type CheckedDecision, checkDecision, type Decision } from "./decision.ts";
import { countRedrives, defaultDecisionOf } from "./default-decision.ts";
import type { FailureInfo } from "./info.ts";
import { decisionOf, listRules, matchingRules } from "./rules.ts";

/** Decides about a failure. If it returns undefined, the rules decide. Times out after 30 s. */
export type CoordinateFunction = (
  failure: FailureInfo,
) => Decision | undefined | Promise<Decision | undefined>;

/** How long the function may take, in milliseconds; then it is skipped, because other failures wait. */
const CONSULT_TIMEOUT_MS = 30_000;

/** A proposed decision. */
export interface Proposal {
  /** "function", the name of a rule, or "default". */
  readonly source: string;
  readonly decision: CheckedDecision;
}

/** A source that proposed no usable decision, and why. */
export interface SkippedProposal {
  readonly source: string;
  readonly passedOver: string;
}

/** Yields proposals in order; the last is always the default. */
export async function* proposeDecisions(
  workspace: Workspace,
  info: FailureInfo,
  consult?: CoordinateFunction,
): AsyncGenerator<Proposal | SkippedProposal, void, undefined> {
  const { redrives } = workspace.limits;
  for await (const proposal of proposeConfigured(workspace, info, consult)) {
    const why =
      "decision" in proposal ? skipReasonOf(proposal.decision, info, redrives) : undefined;
    yield why === undefined ? proposal : { source: proposal.source, passedOver: why };
  }
  yield { source: "default", decision: checkDecision(await decideByDefault(workspace, info)) };
}

/**
 * Returns why a proposal would not end the failure: the redrives are used up, or the agents it would ask were
 * asked and did not decide.
 */
function skipReasonOf(
  { decision, to }: CheckedDecision,
  info: FailureInfo,
  redrives: number,
): string | undefined {
  switch (decision) {
    case "retry":
    case "reroute":
      return countRedrives(info) < redrives
        ? undefined
        : "the maximum number of redrives is reached";
    case "ask": {
      const isAsked = to === undefined ? info.asked.length > 0 : info.asked.includes(to);
      const isVain = isAsked || info.asked.length >= redrives;
      return isVain ? `${info.asked.join(", ")} did not decide in time` : undefined;
    }
    case "abort":
      return undefined;
  }
}

async function* proposeConfigured(
  workspace: Workspace,
  info: FailureInfo,
  consult: CoordinateFunction | undefined,
): AsyncGenerator<Proposal | SkippedProposal, void, undefined> {
  const answer =
    consult && (await redactSecretsAfterwards(workspace, await consultFunction(consult, info)));
  if (answer !== undefined) yield answer;
  for (const rule of matchingRules(await listRules(workspace), info)) {
    yield { source: `rule "${rule.name}"`, decision: checkDecision(decisionOf(rule)) };
  }
}

/**
 * Calls the function. If it throws or returns an invalid decision, the message becomes part of the reason of
 * the decision that is made instead.
 */
async function consultFunction(
  consult: CoordinateFunction,
  info: FailureInfo,
): Promise<Proposal | SkippedProposal | undefined> {
  const source = "function";
  const timer = Promise.withResolvers<never>();
  const late = setTimeout(
    () => timer.reject(new Error(`no answer within ${CONSULT_TIMEOUT_MS} ms`)),
    CONSULT_TIMEOUT_MS,
  ).unref();
  try {
    const decision = await Promise.race([consult(info), timer.promise]);
    return decision === undefined ? undefined : { source, decision: checkDecision(decision) };
  } catch (error) {
    return { source, passedOver: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(late);
  }
}

/** Returns the first proposal of the rules or the default, without calling the function. */
export async function adviceOn(
  workspace: Workspace,
  info: FailureInfo,
): Promise<Proposal | undefined> {
  for await (const proposal of proposeDecisions(workspace, info)) {
    if ("decision" in proposal) return proposal;
  }
  return undefined;
}

async function decideByDefault(workspace: Workspace, info: FailureInfo): Promise<Decision> {
  const { store, name, limits } = workspace;
  const [agents, attempts] = await Promise.all([
    store.listAgents(name),
    store.readAttempts(name, info.delivery),
  ]);
  const had = attempts.map(({ holder }) => holder);
  const given = info.before.flatMap(({ to }) => to ?? []);
  return defaultDecisionOf(info, {
    agents: agents.map(agentInfo),
    tried: [...had, ...given],
    redrives: limits.redrives,
  });
}

/**
 * Returns true if another proposal may succeed where this one was refused; an outage is retried later
 * instead.
 */
export const isRefusal = (error: unknown): error is Error =>
  isBatonError(error) && !error.retryable && !error.code.startsWith("store_");
