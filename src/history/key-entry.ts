/** The entry of an idempotency key: written with a handoff, it names the deliveries the key stands for. */
import { entryValue } from "../workspace/entries.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** The kind of entry. */
export const KEY = "key";

/** What the entry of a key holds. */
export interface KeyValue {
  /** What must be the same when the key is used again. */
  readonly body: string;
  readonly deliveries: readonly string[];
  readonly envelope: string;
}

export const keyName = (agent: string, key: string): string => `${agent}:${key}`;

/** The deliveries an agent made with a key; empty when it has not used it. */
export async function deliveriesOfKey(
  { store, name }: Workspace,
  agent: string,
  key: string,
): Promise<readonly string[]> {
  const entry = await store.findEntry(name, KEY, keyName(agent, key));
  return entryValue<KeyValue>(entry)?.deliveries ?? [];
}
