/** Shows the file's rows to the common verification. Runs in the housekeeper's thread. */
import type { VerifySource } from "../verify.ts";
import { agentOf, count, deliveryOf, edgeOf, envelopeOf, memoryOf, single } from "./codecs.ts";
import type { Statements } from "./statements.ts";

export function verifySource(sql: Statements, workspace: string): VerifySource {
  const key = count(sql.workspaceKey.get(workspace));
  const chains = sql.chains.all(key) as unknown as [number, string, number, string][];
  return {
    workspace,
    total:
      count(sql.countMemories.get(key)) +
      count(sql.countEnvelopes.get(key)) +
      count(sql.countDeliveries.get(key)),
    agents: () => sql.agents.all(key).map(agentOf),
    names: () =>
      (sql.agentNames.all(key) as unknown as [string, string][]).map(([name, agent]) => ({
        name,
        agent,
      })),
    heads: () => chains.map(([, branch, seq, link]) => ({ branch, seq, link })),
    *memories(branch) {
      const chain = chains.find((each) => each[1] === branch)?.[0] ?? 0;
      for (const row of sql.memoriesOfChain.iterate(chain)) yield memoryOf(row);
    },
    memory(id) {
      const row = sql.memory.get(id, key);
      return row && memoryOf(row);
    },
    relations(source) {
      const position = single<number>(sql.memoryPosition.get(source, key)) ?? 0;
      return sql.edgesOut.all(position).map(edgeOf);
    },
    countRelations: () => count(sql.countRelations.get(key)),
    *envelopes() {
      for (const row of sql.envelopes.iterate(key)) yield envelopeOf(row);
    },
    envelope(id) {
      const row = sql.envelope.get(id, key);
      return row && envelopeOf(row);
    },
    *deliveries() {
      for (const row of sql.deliveries.iterate(key)) yield deliveryOf(row);
    },
  };
}
