/** Encodes the record of a changed key for `register()`, as a row of the type `record_part` and its text. */
import { genesis } from "../chain.ts";
import { KEYS_BRANCH } from "../key-history.ts";
import type { NewMemory } from "../rows.ts";

/** Returns the JSON from which the database makes a `record_part`: the only record of its write. */
export function keyRecordParts(workspace: string, record: NewMemory): string {
  const { id, agent, publicKey: key, digest, signature, text } = record;
  return JSON.stringify({
    ...{ i: 1, ord: 1, at: 1, bytes: Buffer.byteLength(text), twice: false },
    ...{ branch: KEYS_BRANCH, genesis: genesis(workspace, KEYS_BRANCH) },
    ...{ id, agent, key, digest, signature, text },
  });
}
