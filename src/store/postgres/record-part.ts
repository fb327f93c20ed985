/** Encodes records as the arguments of a function that appends them outside a group. */
import { genesis } from "../chain.ts";
import type { NewMemory } from "../rows.ts";
import { encodeParts } from "./parts.ts";

/** A record, and the branch it is appended to. */
interface RecordOnBranch {
  readonly branch: string;
  readonly memory: NewMemory;
}

/** Returns the records as an array of `record_part`s, and their texts as one block. */
export function recordParts(workspace: string, records: readonly RecordOnBranch[]) {
  const texts: Buffer[] = [];
  let at = 1;
  const parts = records.map(({ branch, memory }, n) => {
    const { id, agent, publicKey: key, digest, signature } = memory;
    const text = Buffer.from(memory.text);
    texts.push(text);
    const part = {
      ...{ i: 0, ord: n + 1, branch, genesis: genesis(workspace, branch), id, twice: false },
      ...{ agent, key, digest, signature, at, bytes: text.length },
    };
    at += text.length;
    return part;
  });
  return { parts: encodeParts("record", parts), text: Buffer.concat(texts) };
}
