/** Reads the agent registry, and checks authors and receivers against it. */

import { agentOf } from "../../codecs.ts";
import { type AgentRow, roleInbox } from "../../rows.ts";
import type { AuthorRefusal, ReceiverRefusal } from "../../store.ts";
import { scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";

/** Returns an agent by id or alias. */
export function findAgent(sql: Statements, workspace: number, name: string): AgentRow | undefined {
  const row = sql.agentByName.get(workspace, name);
  return row && agentOf(row);
}

/** Checks that the agent may write now, with the key it signed with. */
export function refuseAuthor(
  tx: Transaction,
  workspace: number,
  author: { readonly agent: string; readonly publicKey: string },
): AuthorRefusal | undefined {
  const known = tx.agent(workspace, author.agent);
  if (known === undefined) return { kind: "unknown_agent", agent: author.agent };
  if (known.status === "disabled") return { kind: "agent_disabled", agent: author.agent };
  if (known.publicKey !== author.publicKey) return { kind: "key_changed", agent: author.agent };
  return undefined;
}

/** Checks that an agent can take the delivery: the receiver itself, or one with the role. */
export function refuseReceiver(
  tx: Transaction,
  workspace: number,
  receiver: string,
): ReceiverRefusal | undefined {
  const status = tx.agent(workspace, receiver)?.status;
  if (status !== undefined && status !== "disabled") return undefined;
  const role = receiver.startsWith(ROLE) ? receiver.slice(ROLE.length) : "";
  const able = role === "" ? undefined : scalarOf<number>(tx.sql.roleStatus.get(workspace, role));
  if (able === 1) return undefined;
  const known = status !== undefined || able !== undefined;
  return { kind: known ? "receiver_disabled" : "unknown_receiver", receiver };
}

/** The prefix of every role inbox. */
const ROLE = roleInbox("");
