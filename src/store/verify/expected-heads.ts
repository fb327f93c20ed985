/**
 * Compares chains with heads that were kept outside the store. An attacker who can write the store can cut off the
 * end of a chain or compute a whole chain anew, so that it agrees with itself; only a copy of its head that
 * is out of reach shows it.
 */
import type { MemoryRow } from "../rows.ts";
import type { ChainHead, ChainPoint } from "../verify-report.ts";
import type { Audit } from "./audit.ts";

/** The points that must be on the chains. Reports the first difference of each chain. */
export class ExpectedHeads {
  readonly #audit: Audit;
  readonly #branches = new Map<string, Map<number, Set<string>>>();
  readonly #differing = new Set<string>();

  constructor(audit: Audit, points: readonly ChainPoint[]) {
    this.#audit = audit;
    for (const { branch, seq, link } of points) {
      const known = this.#branches.get(branch) ?? new Map<number, Set<string>>();
      this.#branches.set(branch, known.set(seq, (known.get(seq) ?? new Set()).add(link)));
    }
  }

  /** Compares the next record of a chain. */
  compare({ branch, seq, link }: MemoryRow): void {
    const links = this.#branches.get(branch)?.get(seq);
    if (links === undefined || this.#differing.has(branch)) return;
    if (links.size === 1 && links.has(link)) return;
    this.#differing.add(branch);
    const message = `differs from the expected head at record ${seq}: the chain was rewritten up to there`;
    this.#audit.found(`branch ${branch}`, "link", message);
  }

  /** Compares the end of each chain with the last position that is expected of it. */
  finish(heads: readonly ChainHead[]): void {
    const ends = new Map(heads.map(({ branch, seq }) => [branch, seq]));
    for (const [branch, points] of this.#branches) {
      const expected = Math.max(...points.keys());
      const end = ends.get(branch) ?? 0;
      if (end >= expected) continue;
      const message = `ends at record ${end}, but the expected head is record ${expected}: the end was cut off`;
      this.#audit.found(`branch ${branch}`, "seq", message);
    }
  }
}
