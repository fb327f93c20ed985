import type { Sent } from "../../delivery/sent.ts";
import type { Draft } from "../../envelope/schema.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../command.ts";
import { DRAFT_OPTIONS, draftOf } from "../draft.ts";
import { OK } from "../exit.ts";
import { given } from "../given.ts";
import { mistake } from "../mistake.ts";
import { missingOption } from "../parse.ts";
import { saySent } from "../sent.ts";
import { LEASE_OPTION, openForWork, SEEN_OPTION, workAt } from "../work.ts";

export const handoffSend = command({
  name: "handoff send",
  summary: "hands a task over; once it is shown, it is stored for good",
  args: [{ name: "intent", help: "what the user wants, in quotes", optional: true }],
  options: {
    as: { type: "text", value: "<agent>", help: "who sends it; must be registered" },
    to: { type: "text", value: "<receiver>", help: "an agent, role:<role>; else a route says" },
    continue: { type: "text", value: "<handle>", help: "the work this hands on, and so completes" },
    ...DRAFT_OPTIONS,
    ...SEEN_OPTION,
    ...LEASE_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [intent], options }) {
    const { as, to, continue: handle, seen, lease, store, workspace, json } = options;
    const draft = { ...draftOf(options), ...given({ intent, to }) };
    if (handle === undefined && as === undefined) throw missingOption(handoffSend, "as");
    await using hub = await openForWork({ store, workspace, lease });
    if (handle !== undefined) {
      const work = await workAt(hub, handle, { as, seen });
      const constraints = [...work.envelope.constraints, ...(draft.constraints ?? [])];
      const sent = await work.handoff({ ...draft, constraints } as Draft);
      if (sent.kind === "extended") {
        const { unseen } = await import("../../delivery/unseen.ts");
        throw unseen(work.id, sent.envelope.id);
      }
      await saySent(sent as Sent, json);
      return OK;
    }
    if (draft.intent === undefined) throw noIntent();
    const sender = await hub.agent(as ?? "");
    await saySent(await sender.handoff(draft as Draft), json);
    return OK;
  },
});

function noIntent() {
  return mistake(
    "intent",
    "baton handoff send needs <intent>: what the user wants, in quotes.",
    "Only work that is handed on (--continue) has one already.",
  );
}
