/**
 * Finding by meaning: a pass over 128-bit signatures held in memory picks a few hundred records,
 * whose vectors are then read and compared exactly.
 *
 * The signatures are the one thing here that grows with the store: 24 bytes a record, of the newest
 * two million at most (48 MB), and only in a process that searches.
 */
import { cosine, type QuantisedVector, quantise } from "../../../search/embedding/quantise.ts";
import type { SimilarRecord } from "../../../search/ranking-sources.ts";
import { toUint32Array } from "../../feature-row.ts";
import type { QueryVector } from "../../search.ts";
import { SignatureIndex } from "../../signature-index.ts";
import { scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";

/** Of so many nearest by their bits the exact likeness is computed. */
const EXACT_CANDIDATES = 80;

/** Kept from search to search. A model that is dropped takes its key with it: no other gets it. */
export class SignatureCache {
  readonly #models = new Map<number, SignatureIndex>();

  /** Returns the signatures of a model, with those that were added since the last search. */
  of(sql: Statements, model: number): SignatureIndex {
    const signatures = this.#models.get(model) ?? new SignatureIndex();
    this.#models.set(model, signatures);
    for (const raw of sql.signaturesAfter.iterate(model, signatures.last)) {
      const [pos, bits] = raw as unknown as [number, Uint8Array];
      signatures.add(pos, toUint32Array(bits));
    }
    return signatures;
  }
}

export class VectorSearch {
  readonly #sql: Statements;
  readonly #model: number | undefined;
  readonly #cache: SignatureCache;
  readonly #meant: QueryVector | undefined;
  readonly #asked: QuantisedVector;

  constructor(
    sql: Statements,
    of: { cache: SignatureCache; workspace: number; meant: QueryVector | undefined },
  ) {
    this.#sql = sql;
    this.#cache = of.cache;
    this.#meant = of.meant;
    this.#model = of.meant && scalarOf<number>(sql.model.get(of.workspace, of.meant.model));
    this.#asked = quantise(of.meant?.vector ?? new Float32Array());
  }

  get isThere(): boolean {
    return this.#model !== undefined;
  }

  nearest(limit: number): SimilarRecord[] {
    if (this.#model === undefined || this.#meant === undefined) return [];
    const signatures = this.#cache.of(this.#sql, this.#model);
    const looked = signatures.nearest(this.#meant.signature, Math.max(EXACT_CANDIDATES, limit));
    return this.similarities(looked)
      .sort((a, b) => b.similarity - a.similarity || b.pos - a.pos)
      .slice(0, limit);
  }

  similarities(positions: readonly number[]): SimilarRecord[] {
    if (this.#model === undefined) return [];
    return this.#sql.vectors.all(this.#model, JSON.stringify(positions)).flatMap((raw) => {
      const [pos, vector] = raw as unknown as [number, QuantisedVector];
      // Of another length: made by another model under the same name.
      if (vector.length !== this.#asked.length) return [];
      return [{ pos, similarity: cosine(this.#asked, vector) }];
    });
  }
}
