/** Converts a store's refusal of a record into the error that its author gets. */
import { assertNever, BatonError } from "../base/errors.ts";
import type { RecordRefusal } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { unknownAgent } from "./agents.ts";

/** Returns the error for a refusal. */
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
        message: `Agent "${refusal.agent}" has a key, but the record is not signed with it.`,
        path: "agent",
        hint: `Open the agent with its private key: hub.agent("${refusal.agent}", { key }).`,
      });
    case "missing_reference":
      return new BatonError("dangling_reference", {
        message: `${refusal.memory} references ${refusal.reference}, which does not exist or was stored later.`,
        path: "refs",
        hint: "Check the id; a memory can only reference earlier memories of the same workspace.",
        details: { memory: refusal.memory, reference: refusal.reference },
      });
    case "id_taken":
      return new BatonError("id_conflict", {
        message: `The id ${refusal.id} is already used for other content.`,
        path: "id",
        hint: "Omit the id, or use a new id for new content.",
        details: { id: refusal.id },
      });
    case "branch_closed":
      return new BatonError("branch_closed", {
        message: `The branch "${refusal.branch}" is closed: it was merged or abandoned.`,
        path: "branch",
        hint: "Write on its base, or on a new branch.",
        details: { branch: refusal.branch },
      });
    default:
      return assertNever(refusal);
  }
}

/** Builds `agent_disabled`. */
export function agentDisabled(agent: string, path: string): BatonError {
  return new BatonError("agent_disabled", {
    message: `Agent "${agent}" is disabled.`,
    path,
    hint: `Enable it with hub.agent("${agent}", { status: "active" }).`,
  });
}
