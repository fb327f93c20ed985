/**
 * Verifies a workspace: reads everything it contains and compares it with its hashes and with what the chain
 * records. Works on rows from any store, so that "tampered" means the same everywhere. Never repairs and
 * never rehashes: it reports each record and field that is not as it was written.
 */
import type { ChainPoint, VerifyProgress, VerifyReport } from "../verify-report.ts";
import { auditAgents } from "./agents.ts";
import { Audit, type VerifySource } from "./audit.ts";
import { auditChanges } from "./audit-records.ts";
import { auditChains } from "./chains.ts";
import { auditEntries } from "./entries.ts";
import { auditDeliveries, auditEnvelopes } from "./handoffs.ts";

/**
 * Verifies everything a store contains of one workspace; `onProgress` is called every 5,000 rows. Each of the
 * `expected` points must still be on its chain.
 */
export async function verifyWorkspace(
  source: VerifySource,
  onProgress: (progress: VerifyProgress) => void = () => {},
  expected: readonly ChainPoint[] = [],
): Promise<VerifyReport> {
  const audit = new Audit(source, onProgress);
  await auditAgents(audit);
  await auditChains(audit, expected);
  await auditEnvelopes(audit);
  await auditDeliveries(audit);
  await auditEntries(audit);
  await auditChanges(audit);
  return { ...audit.counts, agents: audit.agents.size, problems: audit.problems };
}
