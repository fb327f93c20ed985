import type { Workspace } from "./workspace.ts";

/** Returns the current time of the store in milliseconds; leases use this clock. */
export async function storeTime({ store, name }: Workspace): Promise<number> {
  return (await store.listDue({ workspace: name, gone: [], limit: 1 })).now;
}
