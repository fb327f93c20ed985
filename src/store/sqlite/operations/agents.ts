/** Reads and writes the agent registry: one row per agent; ids and aliases share one name space. */

import { agentOf } from "../../codecs.ts";
import { KEYS_BRANCH } from "../../key-history.ts";
import { type AgentRow, agentDigest, roleInbox } from "../../rows.ts";
import type {
  AuthorRefusal,
  ReceiverRefusal,
  RegisterAgent,
  RegisterOutcome,
} from "../../store.ts";
import { scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";
import { append } from "./append.ts";

/** Returns an agent by id or alias. */
export function findAgent(sql: Statements, workspace: number, name: string): AgentRow | undefined {
  const row = sql.agentByName.get(workspace, name);
  return row && agentOf(row);
}

/** Creates or changes an agent. */
export function registerAgent(tx: Transaction, operation: RegisterAgent): RegisterOutcome {
  const { sql } = tx;
  const { agent } = operation;
  const workspace = tx.workspace(operation.workspace);
  for (const name of [agent.id, ...agent.aliases]) {
    const owner = scalarOf<string>(sql.nameOwner.get(workspace, name));
    if (owner !== undefined && owner !== agent.id) return { kind: "name_taken", name, by: owner };
  }
  const current = findAgent(sql, workspace, agent.id);
  if ((current?.revision ?? 0) !== operation.basedOn) return { kind: "changed" };
  const sameKey = agent.publicKey === (current?.publicKey ?? "");
  const { record } = operation;
  const now = sameKey && record === undefined ? 0 : keyTime(tx, workspace);
  const keyedAt = sameKey ? (current?.keyedAt ?? 0) : now;
  const row = { ...agent, keyedAt, revision: operation.basedOn + 1 };
  const stored: AgentRow = { ...row, digest: agentDigest(row) };
  sql.putAgent.run(
    workspace,
    stored.id,
    stored.revision,
    stored.keyedAt,
    stored.status,
    stored.role,
    JSON.stringify(stored.aliases),
    stored.publicKey,
    stored.profile,
    stored.digest,
  );
  sql.dropNames.run(workspace, stored.id);
  for (const name of [stored.id, ...stored.aliases]) sql.addName.run(workspace, name, stored.id);
  tx.forgetAgent(workspace, stored.id);
  if (record !== undefined) {
    const name = { workspace: operation.workspace, branch: KEYS_BRANCH };
    append(tx, { name, workspace }, record, now);
  }
  return { kind: "registered", agent: stored };
}

/** Returns a time not before any record, even if the clock went back: those were written without the key. */
function keyTime(tx: Transaction, workspace: number): number {
  tx.flush();
  return Math.max(tx.now, scalarOf<number>(tx.sql.newestTime.get(workspace)) ?? 0);
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
