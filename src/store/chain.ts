/**
 * The link between records, made by the store when it gives a record its place. Together with the
 * author's digest it fixes content, order and time of everything before it: change, remove or swap
 * a record and every link from there on disagrees.
 */
import { sha256 } from "../base/digest.ts";

/** Where a chain begins. Contains its name, so that a record cannot move to another chain. */
export function genesis(workspace: string, branch: string): string {
  return sha256(JSON.stringify(["baton", workspace, branch]));
}

export function nextLink(
  previous: string,
  record: { readonly seq: number; readonly storedAt: number; readonly digest: string },
): string {
  return sha256(`${previous}\n${record.seq}\n${record.storedAt}\n${record.digest}`);
}
