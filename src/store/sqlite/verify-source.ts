/** Shows the file's rows to the common verification. Runs in the housekeeper's thread. */
import type { AgentRow, DeliveryRow, EnvelopeRow, MemoryRow, RelationEdge } from "../rows.ts";
import type { VerifySource } from "../verify.ts";
import { agentOf } from "./agents.ts";
import { deliveryOf } from "./deliveries.ts";
import type { Statements } from "./statements.ts";

export function verifySource(sql: Statements, workspace: string): VerifySource {
  const key = (sql.workspaceKey.get(workspace) as { key: number } | undefined)?.key ?? 0;
  const count = (row: unknown): number => (row as { n: number }).n;
  const chains = sql.chains.all(key) as unknown as ChainRow[];
  return {
    workspace,
    total:
      count(sql.countMemories.get(key)) +
      count(sql.countEnvelopes.get(key)) +
      count(sql.countDeliveries.get(key)),
    agents: () => sql.agents.all(key).map((row) => agentOf(row) as AgentRow),
    names: () => sql.agentNames.all(key) as unknown as { name: string; agent: string }[],
    heads: () => chains,
    *memories(branch) {
      const chain = chains.find((candidate) => candidate.branch === branch);
      yield* rows<MemoryRow>(sql.memoriesOfChain.iterate(chain?.key ?? 0));
    },
    memory: (id) => sql.memory.get(id, key) as MemoryRow | undefined,
    relations(source) {
      const position = sql.memoryPosition.get(source, key) as { pos: number } | undefined;
      return sql.edgesOut.all(position?.pos ?? 0) as unknown as RelationEdge[];
    },
    countRelations: () => count(sql.countRelations.get(key)),
    *envelopes() {
      yield* rows<EnvelopeRow>(sql.envelopes.iterate(key));
    },
    envelope: (id) => sql.envelope.get(id, key) as EnvelopeRow | undefined,
    *deliveries() {
      for (const row of sql.deliveries.iterate(key)) yield deliveryOf(row) satisfies DeliveryRow;
    },
  };
}

interface ChainRow {
  readonly key: number;
  readonly branch: string;
  readonly seq: number;
  readonly link: string;
}

function* rows<Row>(source: Iterable<unknown>): Iterable<Row> {
  for (const row of source) yield row as Row;
}
