/**
 * Finding by meaning: a pass over 128-bit signatures held in memory picks a few hundred records,
 * whose vectors are then read and compared exactly.
 *
 * The signatures are the one thing here that grows with the store: 24 bytes a record, of the newest
 * two million at most (48 MB), and only in a process that searches.
 */
import { cosine, type Quantised, quantised } from "../../../search/embedding/quantise.ts";
import type { Similar } from "../../../search/sources.ts";
import { wordsIn } from "../../found-row.ts";
import type { Meant } from "../../search.ts";
import { Signatures } from "../../signatures.ts";
import { single } from "../scalar.ts";
import type { Statements } from "../statements.ts";

/** Of so many nearest by their bits the exact likeness is computed. */
const LOOKED_AT = 80;

/** Kept from search to search. A model that is dropped takes its key with it: no other gets it. */
export class SignatureCache {
  readonly #models = new Map<number, Signatures>();

  /** Returns the signatures of a model, with those that were added since the last search. */
  of(sql: Statements, model: number): Signatures {
    const signatures = this.#models.get(model) ?? new Signatures();
    this.#models.set(model, signatures);
    for (const raw of sql.signaturesAfter.iterate(model, signatures.last)) {
      const [pos, bits] = raw as unknown as [number, Uint8Array];
      signatures.add(pos, wordsIn(bits));
    }
    return signatures;
  }
}

export class Vectors {
  readonly #sql: Statements;
  readonly #model: number | undefined;
  readonly #cache: SignatureCache;
  readonly #meant: Meant | undefined;
  readonly #asked: Quantised;

  constructor(
    sql: Statements,
    of: { cache: SignatureCache; workspace: number; meant: Meant | undefined },
  ) {
    this.#sql = sql;
    this.#cache = of.cache;
    this.#meant = of.meant;
    this.#model = of.meant && single<number>(sql.model.get(of.workspace, of.meant.model));
    this.#asked = quantised(of.meant?.vector ?? new Float32Array());
  }

  get isThere(): boolean {
    return this.#model !== undefined;
  }

  nearest(limit: number): Similar[] {
    if (this.#model === undefined || this.#meant === undefined) return [];
    const signatures = this.#cache.of(this.#sql, this.#model);
    const looked = signatures.nearest(this.#meant.signature, Math.max(LOOKED_AT, limit));
    return this.similarities(looked)
      .sort((a, b) => b.similarity - a.similarity || b.pos - a.pos)
      .slice(0, limit);
  }

  similarities(positions: readonly number[]): Similar[] {
    if (this.#model === undefined) return [];
    return this.#sql.vectors.all(this.#model, JSON.stringify(positions)).flatMap((raw) => {
      const [pos, vector] = raw as unknown as [number, Quantised];
      // Of another length: made by another model under the same name.
      if (vector.length !== this.#asked.length) return [];
      return [{ pos, similarity: cosine(this.#asked, vector) }];
    });
  }
}
