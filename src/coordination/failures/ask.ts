/**
 * Passes a decision about a failure to a person or another agent. The report is rerouted to them, with a time
 * limit, and they have the same options as the agent that asked. If they do not decide in time, the hub does.
 */

import { clip } from "../../base/clip.ts";
import { canonicalJson } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import {
  decisionRecord,
  guardOf,
  moveDeliveries,
  newEnvelopeOf,
  trailStepOf,
} from "../../delivery/due/moves.ts";
import { lapse, resolvePolicy } from "../../delivery/settings/policy.ts";
import { reseal } from "../../envelope/seal.ts";
import { FAILURE, failedAttemptName } from "../../history/failure-decisions.ts";
import { type AgentInfo, agentInfo, requireAgent } from "../../memory/agents.ts";
import type { Author } from "../../memory/record.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { isHeld, isOpen } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow, Move } from "../../store/store.ts";
import { toEntryText } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { askingPolicy } from "./asking-policy.ts";
import type { CheckedDecision } from "./decision.ts";
import type { FailureSnapshot } from "./find-failure.ts";

/**
 * Reroutes the report of a failure. Returns the id of the agent that was asked; undefined if the report
 * changed meanwhile. Throws `not_open` if there is no open report, and `unknown_agent`.
 */
export async function askForDecision(
  workspace: Workspace,
  author: Author,
  found: FailureSnapshot,
  { to, reason }: Pick<CheckedDecision, "to" | "reason">,
): Promise<string | undefined> {
  const { report } = found;
  if (report === undefined || !isOpen(report.delivery.state)) throw nothingToAsk(found);
  if ((found.kept?.value.asked.length ?? 0) >= FORMAT_LIMITS.listItems) throw askedEnough(found);
  const who =
    to === undefined
      ? await requireAnyPerson(workspace, author)
      : await requireAgentInfo(workspace, to);
  const moved = await rerouteReport(workspace, author, { ...found, report, who, reason });
  return moved ? who.id : undefined;
}

interface DecisionRequest extends FailureSnapshot {
  readonly report: DeliveryWithEnvelopeRow;
  readonly who: AgentInfo;
  readonly reason: string;
}

async function rerouteReport(
  workspace: Workspace,
  author: Author,
  asking: DecisionRequest,
): Promise<boolean> {
  const { of, report, kept, who, reason, failure } = asking;
  const { delivery } = report;
  const now = workspace.clock.now();
  const from = parseEnvelope(workspace, report.envelope);
  const policy = resolvePolicy(now, askingPolicy(workspace.limits, who));
  const did = clip(`asked ${who.id} to decide about ${of.delivery}`, FORMAT_LIMITS.lineLength);
  const history = { agent: author.agent, did, why: clip(reason, FORMAT_LIMITS.lineLength) };
  const sealed = reseal(
    from,
    {
      id: workspace.ids.mint("envelope"),
      parents: [from.id],
      history: [...from.history, history].slice(-FORMAT_LIMITS.listItems),
      metadata: { ...from.metadata, createdAt: now },
      policy,
    },
    workspace,
  );
  const record = {
    type: "decision",
    task: delivery.task,
    content: `${author.agent} asked ${who.id} to decide about the failure of "${delivery.task}" (${failure.type}). Reason: ${reason}`,
    data: { ...of, by: author.agent, decision: "ask", reason, to: who.id },
    relations: [{ kind: "caused-by" as const, to: report.envelope.memory }],
  };
  const ends = { by: author.agent, asked: who.id };
  const move: Move = {
    delivery: delivery.id,
    seen: guardOf(delivery),
    to: "ready",
    event: "rerouted",
    receiver: who.id,
    maxAttempts: delivery.attempt + FORMAT_LIMITS.attempts,
    deadline: policy?.deadline ?? 0,
    lapseMs: lapse(policy, 0),
    ...(isHeld(delivery.state) && {
      ends: { outcome: "released", reason: canonicalJson(ends, "invalid_input") },
    }),
  };
  const asked = kept && [...kept.value.asked, who.id];
  const entry = kept && {
    kind: FAILURE,
    name: failedAttemptName(of),
    value: toEntryText({ ...kept.value, asked }),
    basedOn: kept.revision,
  };
  const trail = [trailStepOf(delivery, "reroute", who.id)];
  const moved = await moveDeliveries(workspace, {
    agent: author.agent,
    memory: decisionRecord(workspace, author, record, { trail, sealed }),
    envelope: newEnvelopeOf(sealed),
    ...(entry && { entries: [entry] }),
    moves: [move],
  });
  return moved !== undefined;
}

async function requireAgentInfo(workspace: Workspace, to: string): Promise<AgentInfo> {
  return agentInfo(await requireAgent(workspace, to));
}

/**
 * Returns the first active person other than the agent that asks. Throws `unknown_agent` if there is none.
 */
async function requireAnyPerson({ store, name }: Workspace, { agent }: Author): Promise<AgentInfo> {
  const agents = (await store.listAgents(name)).map(agentInfo);
  const person = agents.find(
    ({ id, kind, status }) => kind === "person" && status === "active" && id !== agent,
  );
  if (person !== undefined) return person;
  throw new BatonError("unknown_agent", {
    message: `No person can be asked: none other than the caller is registered and active in workspace "${name}".`,
    path: "to",
    hint: 'Pass the agent to ask in to, or register a person: hub.agent("…", { kind: "person" }).',
  });
}

/** Returns the error that stops agents from passing a decision around without end. */
function askedEnough({ of }: FailureSnapshot): BatonError {
  const { listItems: max } = FORMAT_LIMITS;
  return new BatonError("limit_exceeded", {
    message: `The decision about ${of.delivery} was passed on ${max} times, the maximum.`,
    path: "decision",
    hint: "Decide: retry, reroute or abort.",
    details: { ...of, limit: "listItems", max },
  });
}

function nothingToAsk({ of }: FailureSnapshot): BatonError {
  return new BatonError("not_open", {
    message: `The failure of ${of.delivery} has no open report, so the decision cannot be passed on.`,
    path: "delivery",
    hint: "Decide it directly: retry, reroute or abort.",
    details: { ...of },
  });
}
