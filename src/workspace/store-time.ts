import type { Workspace } from "./workspace.ts";

/** The store's time, which leases go by. */
export async function storeTime({ store, name }: Workspace): Promise<number> {
  return (await store.listDue({ workspace: name, gone: [], limit: 1 })).now;
}
