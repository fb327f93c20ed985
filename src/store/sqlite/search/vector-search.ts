/**
 * Finds records by meaning: a pass over 128-bit signatures in memory selects the nearest candidates
 * (`EXACT_CANDIDATES`), then their vectors are read and compared exactly.
 *
 * The signatures are the only part here that grows with the store: 24 bytes per record, for the newest two
 * million at most (48 MB), and only in a process that searches.
 */
import { cosine, type QuantisedVector, quantise } from "../../../search/embedding/quantise.ts";
import type { SimilarRecord } from "../../../search/ranking-sources.ts";
import { toUint32Array } from "../../feature-row.ts";
import type { QueryVector } from "../../search.ts";
import { SignatureIndex } from "../../signature-index.ts";
import { scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";

/** For how many of the nearest signatures the exact similarity is computed. */
const EXACT_CANDIDATES = 80;

/** The signatures of each model, kept between searches. The key of a dropped model is never used again. */
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

/** The vector part of one search. */
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

  /** Whether the workspace has vectors of the query's model. */
  get isThere(): boolean {
    return this.#model !== undefined;
  }

  /** Returns up to `limit` records, the most similar first, regardless of visibility. */
  nearest(limit: number): SimilarRecord[] {
    if (this.#model === undefined || this.#meant === undefined) return [];
    const signatures = this.#cache.of(this.#sql, this.#model);
    const looked = signatures.nearest(this.#meant.signature, Math.max(EXACT_CANDIDATES, limit));
    return this.similarities(looked)
      .sort((a, b) => b.similarity - a.similarity || b.pos - a.pos)
      .slice(0, limit);
  }

  /** Returns the similarity of the records that have a vector. */
  similarities(positions: readonly number[]): SimilarRecord[] {
    if (this.#model === undefined) return [];
    return this.#sql.vectors.all(this.#model, JSON.stringify(positions)).flatMap((raw) => {
      const [pos, vector] = raw as unknown as [number, QuantisedVector];
      // A different length: made by another model under the same name.
      if (vector.length !== this.#asked.length) return [];
      return [{ pos, similarity: cosine(this.#asked, vector) }];
    });
  }
}
