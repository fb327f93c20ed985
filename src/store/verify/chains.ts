/** Verifies the chains: position, link, signature, witness, relations and trail of every memory. */
import { nextLink } from "../chain.ts";
import { edgesOf } from "../edges.ts";
import type { MemoryRow } from "../rows.ts";
import type { ChainHead, ChainPoint } from "../verify-report.ts";
import type { Audit, RecordFields } from "./audit.ts";
import { collectChanges } from "./audit-records.ts";
import { ExpectedHeads } from "./expected-heads.ts";
import type { KeyHistory } from "./key-history.ts";
import { auditKeys, auditSignature } from "./keys.ts";
import { type ChainStart, Prunings } from "./prunings.ts";
import { auditStubs, collectRedactions, writtenDigest } from "./redactions.ts";
import { auditTrail } from "./trail.ts";
import { Witnesses } from "./witnesses.ts";

/** Maximum number of candidate links a record may follow from while the links before it are in doubt. */
const MAX_LINK_CANDIDATES = 16;

/** What is known before the chains are read. */
interface Known {
  readonly prunings: Prunings;
  readonly keys: KeyHistory;
  readonly expected: ExpectedHeads;
}

/** Verifies every branch, then the redaction stubs and the total numbers of memories and relations. */
export async function auditChains(audit: Audit, points: readonly ChainPoint[]): Promise<void> {
  const prunings = await Prunings.read(audit);
  const keys = await auditKeys(audit);
  const expected = new ExpectedHeads(audit, points);
  const heads: ChainHead[] = [];
  for await (const head of audit.source.heads()) {
    heads.push(head);
    await auditChain(audit, head, { prunings, keys, expected });
  }
  expected.finish(heads);
  await auditStubs(audit);
  const { totals } = audit.source;
  audit.equal("memories", "count", { is: totals.memories, was: audit.counts.memories });
  audit.equal("relations", "count", { is: totals.relations, was: audit.counts.relations });
}

async function auditChain(audit: Audit, head: ChainHead, known: Known): Promise<void> {
  const { prunings, keys, expected } = known;
  const witnesses = new Witnesses(audit, prunings);
  const going = prunings.upTo(head.branch);
  let before: ChainStart | undefined;
  for await (const row of audit.source.memories(head.branch)) {
    audit.count("memories");
    const { previous, links } = before ?? prunings.beginning(head, row);
    before = { previous: row, links: checkLink(audit, { row, previous, links: links ?? [] }) };
    prunings.compare(audit, row);
    expected.compare(row);
    const context = { isGoing: row.seq <= going, keys, witnesses };
    await audit.examine(row.id, () => auditMemory(audit, row, context));
  }
  const { previous, links } = before ?? prunings.beginning(head, undefined);
  const end = `branch ${head.branch}`;
  audit.equal(end, "seq", { is: previous?.seq ?? 0, was: head.seq });
  audit.equal(end, "storedAt", { is: previous?.storedAt ?? 0, was: head.storedAt });
  if (!links?.includes(head.link))
    audit.found(end, "link", "does not match the last record of the branch");
}

interface Step {
  readonly row: MemoryRow;
  readonly previous: Pick<MemoryRow, "seq"> | undefined;
  /** Candidate links of the previous record; empty if its link is unknown. */
  readonly links: readonly string[];
}

/**
 * Checks that a record's link follows from the previous one and returns the candidates for the next record.
 *
 * If the stored link is wrong, either the link or the content it was computed from may have changed. The next
 * record may follow from either, so that one change is reported for one record only. As soon as a link
 * matches, the doubt is resolved: an intact chain costs one hash per record, and a chain of wrong links a
 * bounded number.
 */
export function checkLink(audit: Audit, { row, previous, links }: Step): string[] {
  const expected = (previous?.seq ?? 0) + 1;
  if (row.seq !== expected) {
    const message = `is ${row.seq}, expected ${expected}: a record was moved or is missing`;
    audit.found(row.id, "seq", message);
  }
  if (links.length === 0) return [row.link];
  const placed = { ...row, digest: writtenDigest(row) };
  const made = links.map((link) => nextLink(link, placed));
  if (made.includes(row.link)) return [row.link];
  audit.found(row.id, "link", "does not follow from the record before");
  return [row.link, ...made].slice(0, MAX_LINK_CANDIDATES);
}

interface MemoryContext {
  /** Whether the record is to be pruned. */
  readonly isGoing: boolean;
  readonly keys: KeyHistory;
  readonly witnesses: Witnesses;
}

async function auditMemory(
  audit: Audit,
  row: MemoryRow,
  { isGoing, keys, witnesses }: MemoryContext,
): Promise<void> {
  const authored = audit.read<RecordFields>(row);
  if (authored === undefined) return;
  audit.equal(row.id, "id", { is: row.id, was: authored.id });
  auditSignature(audit, row, { authored, keys });
  await witnesses.check(row, authored);
  collectRedactions(audit, row, authored);
  collectChanges(audit, row, authored);
  // The records that a step to be pruned refers to may already have been pruned.
  if (isGoing) audit.counts.relations += edgesOf(authored).length;
  else await auditEdges(audit, row.id, authored);
  const sent = authored.envelope?.id;
  if (sent !== undefined && (await audit.source.envelope(sent)) === undefined) {
    audit.found(sent, "envelope", `is missing, but ${row.id} sent it`);
  }
  await auditTrail(audit, row, authored);
}

async function auditEdges(audit: Audit, id: string, authored: RecordFields): Promise<void> {
  const stored = await audit.source.relations(id);
  const written = edgesOf(authored);
  audit.counts.relations += written.length;
  audit.equal(id, "relations", { is: stored.length, was: written.length });
  for (const [i, edge] of stored.entries()) {
    const was = written[i];
    if (was === undefined) continue;
    const field = `relations[${i}]`;
    audit.equal(id, `${field}.kind`, { is: edge.kind, was: was.kind });
    audit.equal(id, `${field}.to`, { is: edge.target, was: was.target });
    audit.equal(id, `${field}.from`, { is: edge.validFrom, was: was.validFrom });
    audit.equal(id, `${field}.until`, { is: edge.validUntil, was: was.validUntil });
  }
}
