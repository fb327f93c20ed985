import { ERROR_CODES } from "../../../base/errors.ts";
import type { Noted } from "../../../delivery/work/note.ts";
import { command } from "../../command.ts";
import { OK } from "../../exit.ts";
import { given } from "../../options/given.ts";
import { MEMORY_OPTIONS, memoryInputOf } from "../../options/memory-options.ts";
import { sayRedacted } from "../../render/redacted.ts";
import { HANDLE, holderAt, openForWork, WORK_OPTIONS } from "../../render/work.ts";
import { bad, dim, say, sayJson } from "../../terminal.ts";

export const note = command({
  name: "note",
  summary: "Record a step of accepted work, and renew its lease",
  args: [HANDLE, { name: "text", help: "what was done or found out, in quotes" }],
  options: {
    type: { type: "text", value: "<type>", help: "finding, decision, question, …; default: step" },
    ...MEMORY_OPTIONS,
    ...WORK_OPTIONS,
  },

  async run({ args: [handle = "", content = ""], options }) {
    const { type, json, as, lease, store, workspace } = options;
    const input = { ...memoryInputOf(content, options), ...given({ type }) };
    await using hub = await openForWork({ lease, store, workspace });
    const agent = await holderAt(hub, handle, as);
    const noted = await agent.deliveries.note(handle, input);
    if (json) sayJson(noted);
    else sayNoted(noted);
    if (noted.kind === "kept") return ERROR_CODES.lease_lost.exit;
    const { delivery, envelope, sentAt } = await hub.deliveries.get(handle.replace(/#.*$/, ""));
    if (!json && sentAt > (delivery.acceptedAt ?? 0)) {
      say(`The sender has added to it (${envelope.id}): baton handoff show ${delivery.id}`);
    }
    return OK;
  },
});

function sayNoted({ kind, memory, secrets }: Noted): void {
  say(`${memory.id}${dim(`  ${memory.type} ${memory.seq} of ${memory.branch}`)}`);
  sayRedacted(secrets);
  if (kind === "kept") say(bad("The work is no longer yours: the note is kept, and marked. Stop."));
}
