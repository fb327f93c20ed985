/**
 * What the hub would decide, one after the other until one can be carried out: what the function of the
 * hub says, what the rules say, what is done by default.
 */

import { isBatonError } from "../../base/errors.ts";
import { agentInfo } from "../../memory/agents.ts";
import { redactSecretsAfterwards } from "../../memory/redaction/secret-policy.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { type CheckedDecision, checkDecision, type Decision } from "./decision.ts";
import { countRedrives, defaultDecisionOf } from "./default-decision.ts";
import type { FailureInfo } from "./info.ts";
import { decisionOf, listRules, matchingRules } from "./rules.ts";

/** Decides about a failure; undefined leaves it to the rules. */
export type CoordinateFunction = (
  failure: FailureInfo,
) => Decision | undefined | Promise<Decision | undefined>;

/** Whoever does not answer by then is passed over: others wait. */
const CONSULT_TIMEOUT_MS = 30_000;

export interface Proposal {
  /** The function, a rule, or what is done by default. */
  readonly source: string;
  readonly decision: CheckedDecision;
}

/** Said instead of a decision: why there is none. */
export interface SkippedProposal {
  readonly source: string;
  readonly passedOver: string;
}

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

/** Why it would not end: it was tried again often enough, or whoever is asked was, and said nothing. */
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
        : "it was tried again as often as it may be";
    case "ask": {
      const isAsked = to === undefined ? info.asked.length > 0 : info.asked.includes(to);
      const isVain = isAsked || info.asked.length >= redrives;
      return isVain ? `${info.asked.join(", ")} had the time to decide` : undefined;
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

/** What the function says; what it throws, or says wrongly, is told where it is decided without it. */
async function consultFunction(
  consult: CoordinateFunction,
  info: FailureInfo,
): Promise<Proposal | SkippedProposal | undefined> {
  const source = "function";
  const timer = Promise.withResolvers<never>();
  const late = setTimeout(
    () => timer.reject(new Error(`it did not answer within ${CONSULT_TIMEOUT_MS} ms`)),
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

/** The first that the rules or the defaults would say; the function is not asked. */
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

/** Whether another proposal may do, where this one was refused; an outage is for later. */
export const isRefusal = (error: unknown): error is Error =>
  isBatonError(error) && !error.retryable && !error.code.startsWith("store_");
