/**
 * Caches the signatures of recently searched models between searches. New signatures are read before each
 * search; if some were replaced or deleted, all are read again.
 */

import { toUint32Array } from "../../feature-row.ts";
import { SignatureIndex } from "../../signature-index.ts";
import type { StatementRunner } from "../lines.ts";

const MAX_CACHED_MODELS = 4;
/** Signatures read at once: some megabytes. */
const SLICE = 20_000;

interface CachedSignatures {
  readonly signatures: SignatureIndex;
  readonly revision: number;
  /** The last read; reads of one model run one after the other. */
  following: Promise<void>;
}

/** A model, as the cache identifies it. */
export interface CachedModel {
  readonly workspace: string;
  readonly key: number;
  /** How often some of its vectors were replaced or deleted. */
  readonly revision: number;
}

/** Caches the signatures of up to four models. */
export class SignatureCache {
  /** In order of use, the most recently used last. */
  readonly #models = new Map<number, CachedSignatures>();

  /** Returns the signatures of a model, up to date. */
  async of(reader: StatementRunner, model: CachedModel): Promise<SignatureIndex> {
    const followed = this.#followed(model);
    const follow = (): Promise<void> => readNewSignatures(reader, model, followed.signatures);
    // If an earlier read failed, for example because its connection broke, this search reads again.
    followed.following = followed.following.then(follow, follow);
    await followed.following;
    return followed.signatures;
  }

  #followed({ key, revision }: CachedModel): CachedSignatures {
    const known = this.#models.get(key);
    const followed =
      known !== undefined && known.revision >= revision
        ? known
        : { signatures: new SignatureIndex(), revision, following: Promise.resolve() };
    this.#models.delete(key);
    this.#models.set(key, followed);
    const [oldest] = this.#models.keys();
    if (this.#models.size > MAX_CACHED_MODELS && oldest !== undefined) this.#models.delete(oldest);
    return followed;
  }
}

async function readNewSignatures(
  { sql, read }: StatementRunner,
  { workspace, key }: CachedModel,
  signatures: SignatureIndex,
): Promise<void> {
  for (;;) {
    const rows = await read(sql.signaturesAfter, [workspace, key, signatures.last, SLICE]);
    for (const row of rows) {
      const [pos, signature] = row as [number, Uint8Array];
      signatures.add(pos, toUint32Array(signature));
    }
    if (rows.length < SLICE) return;
  }
}
