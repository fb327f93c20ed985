/**
 * Computes the hash links of a branch's chain. The store makes a link when it assigns a record its position.
 * With the author's digest it fixes content, order and time of everything before it: if a record is changed,
 * removed or swapped, every link from there on is wrong.
 */
import { sha256 } from "../base/digest.ts";

/** Orders chains by the names of their branches. */
export const compareBranches = (a: { branch: string }, b: { branch: string }): number =>
  a.branch < b.branch ? -1 : a.branch > b.branch ? 1 : 0;

/**
 * Returns the link a chain starts from. It contains workspace and branch, so a record cannot move to another
 * chain.
 */
export function genesis(workspace: string, branch: string): string {
  return sha256(JSON.stringify(["baton", workspace, branch]));
}

/** Returns the link of a record that follows the record with the link `previous`. */
export function nextLink(
  previous: string,
  record: { readonly seq: number; readonly storedAt: number; readonly digest: string },
): string {
  return sha256(`${previous}\n${record.seq}\n${record.storedAt}\n${record.digest}`);
}
