/**
 * What the hub decides where nobody has said anything else. The first line that fits counts:
 *
 * | the failure                                        | is decided                                   |
 * |----------------------------------------------------|----------------------------------------------|
 * | a task it depends on will never be done            | abort                                        |
 * | tried again as often as `limits.redrives` says     | abort                                        |
 * | retryable, and nothing was decided about it before | retry, after a pause                         |
 * | any other, of one agent, and another of its role   | reroute to that one; nobody gets it twice    |
 * | has work (not of a line that had to stop)          |                                              |
 * | any other, and there is a person nobody has asked  | ask                                          |
 * | any other                                          | abort                                        |
 */
import { DEPENDENCY } from "../../history/failure.ts";
import type { AgentInfo } from "../../memory/agents.ts";
import { COORDINATOR } from "./coordinators.ts";
import type { Decision } from "./decision.ts";
import type { FailureInfo } from "./info.ts";

/** What ailed it may pass. */
export const RETRY_DELAY_MS = 30_000;

/** It did not fail at anybody: nobody else does better. */
const NOT_REROUTABLE: readonly string[] = ["hop_limit", "join_impossible", "unsealable"];

export interface DefaultDecisionContext {
  readonly agents: readonly AgentInfo[];
  /** Everybody who has had it. */
  readonly tried: readonly string[];
  /** How often one delivery is tried again. */
  readonly redrives: number;
}

export function defaultDecisionOf(info: FailureInfo, team: DefaultDecisionContext): Decision {
  const { failure } = info;
  const { type, class: kind } = failure;
  if (type === DEPENDENCY) return abort(`It cannot begin: ${failure.message}`);
  const again = countRedrives(info);
  if (again >= team.redrives) return abort(`It was tried again ${again} times already.`);
  if (
    kind === "retryable" &&
    info.before.length === 0 &&
    isReceiverAvailable(info.receiver, team)
  ) {
    const reason = "Another try may mend it, and nobody has had one since.";
    return { decision: "retry", delayMs: RETRY_DELAY_MS, reason };
  }
  const other = NOT_REROUTABLE.includes(type) ? undefined : findAlternativeAgent(info, team);
  if (other !== undefined) {
    const reason = `${info.receiver} could not do it, and ${other} has the same role.`;
    return { decision: "reroute", to: other, reason };
  }
  const person = findPersonToAsk(info, team);
  if (person !== undefined) {
    return {
      decision: "ask",
      to: person,
      reason: "Neither another try nor another agent mends it.",
    };
  }
  return abort("Neither another try nor another agent mends it, and there is nobody to ask.");
}

const abort = (reason: string): Decision => ({ decision: "abort", reason });

/** How often it was tried again since it was first given up. */
export const countRedrives = ({ before }: FailureInfo): number =>
  before.filter(({ decision }) => decision !== "abort").length;

function isReceiverAvailable(receiver: string, { agents }: DefaultDecisionContext): boolean {
  return agents.some(
    ({ id, role, status }) =>
      status !== "disabled" &&
      (id === receiver || (role !== undefined && `role:${role}` === receiver)),
  );
}

/** Of one agent's work: another active agent of the role, who has not had it yet. */
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

/** Coordinators had it before it came to the hub; and one person is asked once. */
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
