/** The inbox: deliveries as they arrive, each claimed for its receiver. */
import * as z from "zod";
import { Name } from "../../envelope/schema.ts";
import { parseOr } from "../../envelope/violations.ts";
import type { Claimed } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { lookOut } from "./wait-for-delivery.ts";
import type { Worker } from "./worker.ts";

const OptionsSchema = z.strictObject({
  /** Ends the inbox. */
  signal: z.instanceof(AbortSignal).optional(),
  /** Only handoffs of this task. */
  task: Name.optional(),
  /** False: end when nothing is ready, instead of waiting for more. */
  wait: z.boolean().default(true),
});

export type InboxOptions = z.input<typeof OptionsSchema>;

export const checkedInbox = (options: InboxOptions): z.output<typeof OptionsSchema> =>
  parseOr(OptionsSchema, options, {
    code: "invalid_input",
    what: "The inbox's options",
    unwritten: "signal",
  });

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
