/**
 * Verifies witnesses: a signed record names its workspace and branch, and records that its author knew to be
 * stored. The signature covers the witness. So a signed record cannot be moved to another chain or before a
 * record that it names, and what it names cannot be changed, removed or reordered, nor anything before it.
 */
import type { MemoryRow, Witness, WitnessedRecord } from "../rows.ts";
import type { Audit, RecordFields } from "./audit.ts";
import type { Prunings } from "./prunings.ts";

/** Links of the chain being read that are remembered. An author's newest record is rarely further back. */
const REMEMBERED_LINKS = 4_096;

/** Compares the witnesses of one chain with the records they name. */
export class Witnesses {
  readonly #audit: Audit;
  readonly #prunings: Prunings;
  /** The newest links of the chain, by position. */
  readonly #links = new Map<number, string>();

  constructor(audit: Audit, prunings: Prunings) {
    this.#audit = audit;
    this.#prunings = prunings;
  }

  /** Checks the witness of the next record of the chain. */
  async check(row: MemoryRow, { witness }: RecordFields): Promise<void> {
    if (row.signature !== "") await this.#checkSigned(row, witness);
    this.#links.set(row.seq, row.link);
    this.#links.delete(row.seq - REMEMBERED_LINKS);
  }

  async #checkSigned(row: MemoryRow, witness: Witness | undefined): Promise<void> {
    if (witness === undefined) {
      this.#audit.found(row.id, "witness", "is missing: the signature covers no position");
      return;
    }
    const { workspace, branch, after, previous } = witness;
    const { source } = this.#audit;
    this.#audit.equal(row.id, "workspace", { is: source.workspace, was: workspace });
    this.#audit.equal(row.id, "branch", { is: row.branch, was: branch });
    if (after !== undefined) await this.#checkNamed(row, after);
    if (previous !== undefined) await this.#checkNamed(row, previous);
  }

  async #checkNamed(row: MemoryRow, named: WitnessedRecord): Promise<void> {
    const { branch, id, link, seq } = named;
    const isBefore = branch !== row.branch || seq < row.seq;
    const known = branch === row.branch ? this.#links.get(seq) : undefined;
    if (isBefore && known === link) return;
    const stored = await this.#audit.source.memory(id);
    if (stored === undefined && seq <= this.#prunings.upTo(branch)) return;
    const isThere = stored?.branch === branch && stored.seq === seq && stored.link === link;
    if (isBefore && isThere) return;
    const place = `record ${seq} of branch ${branch} (${id})`;
    this.#audit.found(
      row.id,
      "witness",
      isBefore
        ? `${place} was stored before it, and is missing or differs now`
        : `was signed after ${place}, and stands before it`,
    );
  }
}
