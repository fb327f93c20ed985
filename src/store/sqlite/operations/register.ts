/** Writes the agent registry, together with the records of a change if there are any. */

import { type AgentRow, agentDigest } from "../../rows.ts";
import type { RegisterAgent, RegisterOutcome } from "../../store.ts";
import { KEYS_BRANCH } from "../../verify/key-history.ts";
import { Refusal } from "../refusal.ts";
import { scalarOf } from "../scalar.ts";
import type { Transaction } from "../transaction.ts";
import { findAgent } from "./agents.ts";
import { append, refuseRecord } from "./append.ts";

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
  const { records = [] } = operation;
  const now = sameKey && records.length === 0 ? 0 : keyTime(tx, workspace);
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
  for (const { branch, memory } of records) {
    // Throwing takes the registration back. Who changes a key is not its author: the agent itself may be keyed.
    const refused = branch === KEYS_BRANCH ? undefined : refuseRecord(tx, workspace, memory);
    if (refused !== undefined) throw new Refusal(refused);
    append(tx, { name: { workspace: operation.workspace, branch }, workspace }, memory, now);
  }
  return { kind: "registered", agent: stored };
}

/** Returns a time not before any record, even if the clock went back: those were written without the key. */
function keyTime(tx: Transaction, workspace: number): number {
  tx.flush();
  return Math.max(tx.now, scalarOf<number>(tx.sql.newestTime.get(workspace)) ?? 0);
}
