/**
 * The decision that the hub makes about a failure when no coordinator, function or rule does. The first
 * matching row applies:
 *
 * | the failure                                        | decision                                     |
 * |----------------------------------------------------|----------------------------------------------|
 * | a task it depends on will never be done            | abort                                        |
 * | was redriven `limits.redrives` times               | abort                                        |
 * | is retryable, and was not decided before           | retry, after a pause                         |
 * | any other, sent to one agent, and another agent of | reroute to that agent, unless it held the    |
 * | its role is active (not if the line was stopped)   | delivery before                              |
 * | any other, and a person was not asked yet          | ask                                          |
 * | any other                                          | abort                                        |
 */
import { DEPENDENCY } from "../../history/failure.ts";
import type { AgentInfo } from "../../memory/agents.ts";
import { COORDINATOR } from "./coordinators.ts";
import type { Decision } from "./decision.ts";
import type { FailureInfo } from "./info.ts";

/** The pause before a retry, in milliseconds, because the cause may be temporary. */
export const RETRY_DELAY_MS = 30_000;

/** Failures that are not caused by the receiver, so another receiver would fail too. */
const NOT_REROUTABLE: readonly string[] = ["hop_limit", "join_impossible", "unsealable"];

/** What the default decision depends on beside the failure. */
export interface DefaultDecisionContext {
  readonly agents: readonly AgentInfo[];
  /** Every agent that has held the delivery. */
  readonly tried: readonly string[];
  /** The maximum number of redrives of one delivery (`limits.redrives`). */
  readonly redrives: number;
}

/** Returns the default decision about a failure, by the table at the top of this file. */
export function defaultDecisionOf(info: FailureInfo, team: DefaultDecisionContext): Decision {
  const { failure } = info;
  const { type, class: kind } = failure;
  if (type === DEPENDENCY) return abort(`It cannot start: ${failure.message}`);
  const again = countRedrives(info);
  if (again >= team.redrives) return abort(`It was redriven ${again} times, the maximum.`);
  if (
    kind === "retryable" &&
    info.before.length === 0 &&
    isReceiverAvailable(info.receiver, team)
  ) {
    const reason = "The failure is retryable, and it was not redriven before.";
    return { decision: "retry", delayMs: RETRY_DELAY_MS, reason };
  }
  const other = NOT_REROUTABLE.includes(type) ? undefined : findAlternativeAgent(info, team);
  if (other !== undefined) {
    const reason = `${info.receiver} failed, and ${other} has the same role.`;
    return { decision: "reroute", to: other, reason };
  }
  const person = findPersonToAsk(info, team);
  if (person !== undefined) {
    return {
      decision: "ask",
      to: person,
      reason: "A retry cannot help, and no other agent can take it.",
    };
  }
  return abort("A retry cannot help, no other agent can take it, and no person is left to ask.");
}

const abort = (reason: string): Decision => ({ decision: "abort", reason });

/** Returns how often a delivery was redriven since it was first given up. */
export const countRedrives = ({ before }: FailureInfo): number =>
  before.filter(({ decision }) => decision !== "abort").length;

function isReceiverAvailable(receiver: string, { agents }: DefaultDecisionContext): boolean {
  return agents.some(
    ({ id, role, status }) =>
      status !== "disabled" &&
      (id === receiver || (role !== undefined && `role:${role}` === receiver)),
  );
}

/** For work sent to one agent: returns another active agent of the same role that has not held it. */
function findAlternativeAgent(
  { receiver, role }: FailureInfo,
  { agents, tried }: DefaultDecisionContext,
): string | undefined {
  if (role === undefined || receiver.startsWith("role:")) return undefined;
  const other = agents.find(
    (agent) =>
      agent.role === role &&
      agent.status === "active" &&
      agent.id !== receiver &&
      !tried.includes(agent.id),
  );
  return other?.id;
}

/**
 * Returns a person to ask. Coordinators had the report before the hub, and only one person is asked, once.
 */
function findPersonToAsk(
  { asked, failure }: FailureInfo,
  { agents }: DefaultDecisionContext,
): string | undefined {
  if (asked.length > 0) return undefined;
  const person = agents.find(
    ({ id, kind, role, status }) =>
      kind === "person" && status === "active" && role !== COORDINATOR && id !== failure.by,
  );
  return person?.id;
}
