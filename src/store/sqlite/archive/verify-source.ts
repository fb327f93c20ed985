/** Provides a file's rows to the shared verification. Runs in the housekeeper's thread. */

import {
  attemptOf,
  edgeOf,
  entryOf,
  envelopeOf,
  memoryOf,
  rawAgentOf,
  rawDeliveryOf,
} from "../../codecs.ts";
import type { VerifySource } from "../../verify/audit.ts";
import type { ChainHead } from "../../verify-report.ts";
import { numberOf, scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";

/** Returns the recorded end of each chain of a workspace. */
export function chainHeads(sql: Statements, workspace: number): ChainHead[] {
  const chains = sql.chains.all(workspace) as unknown as [number, string, number, number, string][];
  return chains.map(([, branch, seq, storedAt, link]) => ({ branch, seq, storedAt, link }));
}

/** Returns the rows of one workspace; damaged columns are passed on as stored. */
export function verifySource(sql: Statements, workspace: string): VerifySource {
  const key = numberOf(sql.workspaceKey.get(workspace));
  const chains = sql.chains.all(key) as unknown as [number, string, number, number, string][];
  return {
    workspace,
    totals: {
      memories: numberOf(sql.countMemories.get(key)),
      relations: numberOf(sql.countRelations.get(key)),
      envelopes: numberOf(sql.countEnvelopes.get(key)),
      deliveries: numberOf(sql.countDeliveries.get(key)),
    },
    agents: () => sql.agents.all(key).map(rawAgentOf),
    names: () =>
      (sql.agentNames.all(key) as unknown as [string, string][]).map(([name, agent]) => ({
        name,
        agent,
      })),
    heads: () => chainHeads(sql, key),
    *memories(branch) {
      const chain = chains.find((each) => each[1] === branch)?.[0] ?? 0;
      for (const row of sql.memoriesOfChain.iterate(chain)) yield memoryOf(row);
    },
    memory(id) {
      const row = sql.memory.get(key, id);
      return row && memoryOf(row);
    },
    relations(source) {
      const position = scalarOf<number>(sql.memoryPosition.get(key, source)) ?? 0;
      return sql.edgesOut.all(position).map(edgeOf);
    },
    *envelopes() {
      for (const row of sql.envelopes.iterate(key)) yield envelopeOf(row);
    },
    envelope(id) {
      const row = sql.envelope.get(key, id);
      return row && envelopeOf(row);
    },
    *deliveries() {
      for (const row of sql.deliveries.iterate(key)) yield rawDeliveryOf(row);
    },
    delivery(id) {
      const row = sql.delivery.get(key, id);
      return row && rawDeliveryOf(row);
    },
    attempts: (delivery) => sql.attempts.all(key, delivery).map(attemptOf),
    *entries() {
      for (const row of sql.entries.iterate(key)) yield entryOf(row);
    },
  };
}
