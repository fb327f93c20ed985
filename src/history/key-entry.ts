/**
 * The entry of an idempotency key: written together with a handoff, it names the deliveries that the key
 * created.
 */
import { entryValue } from "../workspace/entries.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** The kind of entry. */
export const KEY = "key";

/** The stored value of a key. */
export interface KeyValue {
  /** The part of the request that must be the same when the key is used again. */
  readonly body: string;
  readonly deliveries: readonly string[];
  readonly envelope: string;
}

/** Returns the name of the entry: keys are per agent. */
export const keyName = (agent: string, key: string): string => `${agent}:${key}`;

/** Returns the deliveries that an agent created with a key; none if it has not used the key. */
export async function deliveriesOfKey(
  { store, name }: Workspace,
  agent: string,
  key: string,
): Promise<readonly string[]> {
  const entry = await store.findEntry(name, KEY, keyName(agent, key));
  return entryValue<KeyValue>(entry)?.deliveries ?? [];
}
