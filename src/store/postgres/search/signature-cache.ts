/**
 * The signatures of models that were searched lately, kept from search to search. What was added since
 * is read before each search; when some were replaced or taken away, all are.
 */

import { toUint32Array } from "../../feature-row.ts";
import { SignatureIndex } from "../../signature-index.ts";
import type { StatementRunner } from "../lines.ts";

const MAX_CACHED_MODELS = 4;
/** Read at once: some megabytes. */
const SLICE = 20_000;

interface CachedSignatures {
  readonly signatures: SignatureIndex;
  readonly revision: number;
  /** One reads on at a time. */
  following: Promise<void>;
}

export interface CachedModel {
  readonly workspace: string;
  readonly key: number;
  /** How often some of its vectors were replaced or taken away. */
  readonly revision: number;
}

export class SignatureCache {
  /** The one used last comes last. */
  readonly #models = new Map<number, CachedSignatures>();

  /** With everything that was added since. */
  async of(reader: StatementRunner, model: CachedModel): Promise<SignatureIndex> {
    const followed = this.#followed(model);
    const follow = (): Promise<void> => readNewSignatures(reader, model, followed.signatures);
    // A connection that broke before is not this search's trouble.
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
