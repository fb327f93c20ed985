/** Why a store refused a record, as the error its author gets. */
import { assertNever, BatonError } from "../base/errors.ts";
import type { RecordRefusal } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { unknownAgent } from "./agents.ts";

export async function refusalError(
  workspace: Workspace,
  refusal: RecordRefusal,
): Promise<BatonError> {
  switch (refusal.kind) {
    case "unknown_agent":
      return unknownAgent(workspace, refusal.agent);
    case "agent_disabled":
      return agentDisabled(refusal.agent, "agent");
    case "key_changed":
      return new BatonError("identity_mismatch", {
        message: `Agent "${refusal.agent}" has a key, and the record is not signed with it.`,
        path: "agent",
        hint: `Open the agent with its private key: hub.agent("${refusal.agent}", { key }).`,
      });
    case "missing_reference":
      return new BatonError("dangling_reference", {
        message: `${refusal.memory} refers to ${refusal.reference}, which does not exist before it.`,
        path: "refs",
        hint: "References point back to records of the same workspace; check the id.",
        details: { memory: refusal.memory, reference: refusal.reference },
      });
    case "id_taken":
      return new BatonError("id_conflict", {
        message: `The id ${refusal.id} was used before, for something else.`,
        path: "id",
        hint: "Leave the id out, or use a new one for new content.",
        details: { id: refusal.id },
      });
    case "branch_closed":
      return new BatonError("branch_closed", {
        message: `The branch "${refusal.branch}" was merged or abandoned.`,
        path: "branch",
        hint: "Write on its base, or on a new branch.",
        details: { branch: refusal.branch },
      });
    default:
      return assertNever(refusal);
  }
}

export function agentDisabled(agent: string, path: string): BatonError {
  return new BatonError("agent_disabled", {
    message: `Agent "${agent}" is disabled.`,
    path,
    hint: `Enable it with hub.agent("${agent}", { status: "active" }).`,
  });
}
