/** The command `baton handoff send`: sends or previews a handoff. */
import type { Draft } from "../../../envelope/schema.ts";
import type { Hub } from "../../../hub/hub.ts";
import type { Sent } from "../../../hub/sent.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import {
  draftFromOptions,
  HANDOFF_OPTIONS,
  type HandoffRequest,
  handoffRequestOf,
  standaloneDraftOf,
} from "../../options/handoff-options.ts";
import { printSent } from "../../render/sent.ts";
import { printJson } from "../../terminal.ts";
import { LEASE_OPTION, openForWork } from "../../work-by-handle.ts";

export const handoffSend = command({
  name: "handoff send",
  summary: "Hand a task to another agent; stored once the command returns",
  args: [{ name: "intent", help: "what the task is meant to achieve, in quotes", optional: true }],
  options: {
    ...HANDOFF_OPTIONS,
    preview: {
      type: "flag",
      help: "show the receiver's view and lint findings without sending",
    },
    ...LEASE_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [intent], options }) {
    const { as, lease, store, workspace, json, preview } = options;
    const said = draftFromOptions(handoffSend, intent, options);
    await using hub = await openForWork({ store, workspace, lease });
    const sending = await handoffRequestOf(hub, said, options);
    if (preview) {
      await showPreview(hub, { as, json }, sending);
      return OK;
    }
    await printSent(await send(hub, as, sending), json);
    return OK;
  },
});

async function send(
  hub: Hub,
  as: string | undefined,
  { draft, work }: HandoffRequest,
): Promise<Sent> {
  if (work === undefined) return (await hub.agent(as ?? "")).handoff(draft as Draft);
  return work.handoff(draft as Draft);
}

async function showPreview(
  hub: Hub,
  { as, json }: { readonly as?: string | undefined; readonly json?: boolean | undefined },
  sending: HandoffRequest,
): Promise<void> {
  const { sender, draft } = await standaloneDraftOf(hub, as, sending);
  const [preview, lint] = [await sender.handoffs.preview(draft), await sender.handoffs.lint(draft)];
  if (json) printJson({ ...preview, lint });
  else await (await import("../../render/preview.ts")).printPreview(hub, preview, lint);
}
