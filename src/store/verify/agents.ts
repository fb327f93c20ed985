/** Verifies the agent registry: compares each row with its digest and each name with the agent rows. */
import { agentDigest } from "../rows.ts";
import type { Audit } from "./audit.ts";

/** Reads all agents into `audit.agents` and reports changed rows and changed, extra or missing names. */
export async function auditAgents(audit: Audit): Promise<void> {
  for await (const agent of audit.source.agents()) {
    audit.agents.set(agent.id, agent);
    audit.equal(`agent ${agent.id}`, "digest", { is: agent.digest, was: agentDigest(agent) });
  }
  const expected = new Map<string, string>();
  for (const agent of audit.agents.values()) {
    for (const name of [agent.id, ...agent.aliases]) expected.set(name, agent.id);
  }
  for await (const { name, agent } of audit.source.names()) {
    const was = expected.get(name);
    audit.equal(`agent ${was ?? agent}`, `name ${name}`, { is: agent, was });
    expected.delete(name);
  }
  for (const [name, agent] of expected)
    audit.found(`agent ${agent}`, "names", `"${name}" is missing`);
}
