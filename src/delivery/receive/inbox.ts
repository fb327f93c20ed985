/** The inbox: deliveries as they arrive, each claimed for its receiver. */
import type { Claimed } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { checkedInbox, type InboxOptions } from "./receive-options.ts";
import { lookOut } from "./wait-for-delivery.ts";
import type { Worker } from "./worker.ts";

export async function* inbox(
  workspace: Workspace,
  receiver: Worker,
  options: InboxOptions,
): AsyncGenerator<Claimed, void, undefined> {
  const { task, wait, signal } = checkedInbox(options);
  for (;;) {
    const claimed = await lookOut(workspace, receiver, { task }, { wait, signal });
    if (claimed === undefined) return;
    yield claimed;
  }
}
