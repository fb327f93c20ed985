/** Encodes one record as the arguments of a function that appends it outside a group. */
import { genesis } from "../chain.ts";
import type { NewMemory } from "../rows.ts";
import { encodeParts } from "./parts.ts";

/** A record, and the branch it is appended to. */
export interface RecordOnBranch {
  readonly workspace: string;
  readonly branch: string;
  readonly memory: NewMemory;
}

/** Returns the record as an array with one `record_part`, and its text. */
export function recordPart({ workspace, branch, memory }: RecordOnBranch) {
  const { id, agent, publicKey: key, digest, signature } = memory;
  const text = Buffer.from(memory.text);
  const record = {
    ...{ i: 0, ord: 1, branch, genesis: genesis(workspace, branch), id, twice: false },
    ...{ agent, key, digest, signature, at: 1, bytes: text.length },
  };
  return { part: encodeParts("record", [record]), text };
}
