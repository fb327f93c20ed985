/** The chains: every record in its place, as its author wrote it, with the edges it names. */
import { verifySignature } from "../../base/signing-keys.ts";
import { nextLink } from "../chain.ts";
import { edgesOf } from "../edges.ts";
import type { MemoryRow } from "../rows.ts";
import type { ChainHead } from "../verify-report.ts";
import type { Audit, RecordFields } from "./audit.ts";
import { type ChainStart, Prunings } from "./prunings.ts";
import { auditStubs, collectRedactions, writtenDigest } from "./redactions.ts";
import { auditTrail } from "./trail.ts";

/** Links a record may follow from while the ones before it are in doubt. */
const MAX_LINK_CANDIDATES = 16;

export async function auditChains(audit: Audit): Promise<void> {
  const prunings = await Prunings.read(audit);
  for await (const head of audit.source.heads()) await auditChain(audit, head, prunings);
  await auditStubs(audit);
  const { totals } = audit.source;
  audit.equal("memories", "count", { is: totals.memories, was: audit.counts.memories });
  audit.equal("relations", "count", { is: totals.relations, was: audit.counts.relations });
}

async function auditChain(audit: Audit, head: ChainHead, prunings: Prunings): Promise<void> {
  const going = prunings.upTo(head.branch);
  let before: ChainStart | undefined;
  for await (const row of audit.source.memories(head.branch)) {
    audit.count("memories");
    const { previous, links } = before ?? prunings.beginning(head, row);
    before = { previous: row, links: checkLink(audit, { row, previous, links: links ?? [] }) };
    prunings.compare(audit, row);
    await auditMemory(audit, row, row.seq <= going);
  }
  const { previous, links } = before ?? prunings.beginning(head, undefined);
  const end = `branch ${head.branch}`;
  audit.equal(end, "seq", { is: previous?.seq ?? 0, was: head.seq });
  audit.equal(end, "storedAt", { is: previous?.storedAt ?? 0, was: head.storedAt });
  if (!links?.includes(head.link)) audit.found(end, "link", "does not match its last record");
}

interface Step {
  readonly row: MemoryRow;
  readonly previous: Pick<MemoryRow, "seq"> | undefined;
  /** None: nobody knows what it follows from. */
  readonly links: readonly string[];
}

/**
 * A record's link must follow from the one before. If the stored link is wrong we cannot know
 * whether it or what it was made of changed: the next record may follow from either, so that one
 * change names one record. A link that does follow settles it; so a whole chain costs one hash per
 * record, and a chain of nothing but wrong links a bounded number.
 */
export function checkLink(audit: Audit, { row, previous, links }: Step): string[] {
  const expected = (previous?.seq ?? 0) + 1;
  if (row.seq !== expected) {
    const message = `is ${row.seq} where ${expected} was expected: moved or missing`;
    audit.found(row.id, "seq", message);
  }
  if (links.length === 0) return [row.link];
  const placed = { ...row, digest: writtenDigest(row) };
  const made = links.map((link) => nextLink(link, placed));
  if (made.includes(row.link)) return [row.link];
  audit.found(row.id, "link", "does not follow from the record before");
  return [row.link, ...made].slice(0, MAX_LINK_CANDIDATES);
}

async function auditMemory(audit: Audit, row: MemoryRow, isGoing: boolean): Promise<void> {
  const authored = audit.read<RecordFields>(row);
  if (authored === undefined) return;
  audit.equal(row.id, "id", { is: row.id, was: authored.id });
  auditSignature(audit, row, authored);
  collectRedactions(audit, row, authored);
  // Of a step that is to go, what it refers to may have gone before it.
  if (isGoing) audit.counts.relations += edgesOf(authored).length;
  else await auditEdges(audit, row.id, authored);
  const sent = authored.envelope?.id;
  if (sent !== undefined && (await audit.source.envelope(sent)) === undefined) {
    audit.found(sent, "envelope", `is missing; ${row.id} handed it over`);
  }
  await auditTrail(audit, row, authored);
}

/** A signed record names its key, under its own digest: neither can be taken off or swapped. */
function auditSignature(
  audit: Audit,
  row: MemoryRow,
  { agent: author, key = "" }: RecordFields,
): void {
  const agent = audit.agents.get(author);
  if (agent === undefined) {
    audit.found(row.id, "agent", `"${author}" is not registered`);
    return;
  }
  const forged = key === "" && agent.publicKey !== "" && row.storedAt > agent.keyedAt;
  const strange = key !== "" && key !== agent.publicKey;
  const holds =
    key === "" ? row.signature === "" : verifySignature(key, writtenDigest(row), row.signature);
  if (forged || strange || !holds) audit.found(row.id, "signature", `is not ${author}'s`);
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
