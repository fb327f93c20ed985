/** Registers agents together with their audit record, in one write. */

import { type AuditTarget, auditedAgentDigest } from "../../store/audited.ts";
import type { AgentRow, NewMemory } from "../../store/rows.ts";
import type { RegisterAgent, RegisterOutcome } from "../../store/store.ts";
import { KEYS_BRANCH } from "../../store/verify/key-history.ts";
import { currentActor } from "../../workspace/actor.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Author } from "../record.ts";
import { auditBranchOf, auditRecord } from "./audit-record.ts";

/** A registration, or a change of one. */
export interface AuditedRegistration {
  readonly author: Author;
  /** The operation: `agent`, `agents.pause`, … */
  readonly action: string;
  readonly current: AgentRow | undefined;
  readonly agent: RegisterAgent["agent"];
  /** The record of a change of the agent's key. */
  readonly key?: NewMemory | undefined;
}

/** What can happen to a registration; the record itself is always accepted. */
type Outcome = Extract<RegisterOutcome, { kind: "registered" | "changed" | "name_taken" }>;

/** Creates or changes an agent and records it: both or neither. */
export async function registerAudited(
  workspace: Workspace,
  { author, action, current, agent, key }: AuditedRegistration,
): Promise<Outcome> {
  const target: AuditTarget = { kind: "agent", name: agent.id };
  const memory = auditRecord(workspace, author, {
    kind: "change",
    action,
    actor: currentActor(),
    target,
    ...(current === undefined ? {} : { before: auditedAgentDigest(current) }),
    after: auditedAgentDigest(agent),
  });
  const { branch } = auditBranchOf(workspace);
  const outcome = await workspace.store.registerAgent({
    workspace: workspace.name,
    agent,
    basedOn: current?.revision ?? 0,
    records: [
      { branch, memory },
      ...(key === undefined ? [] : [{ branch: KEYS_BRANCH, memory: key }]),
    ],
  });
  switch (outcome.kind) {
    case "registered":
    case "changed":
    case "name_taken":
      return outcome;
    default:
      throw new Error(`unexpected outcome of recording a registration: ${outcome.kind}`);
  }
}
