import type { Noted } from "../../delivery/note.ts";
import { ERROR_CODES } from "../../errors.ts";
import { command } from "../command.ts";
import { OK } from "../exit.ts";
import { given } from "../given.ts";
import { sayRedacted } from "../redacted.ts";
import { bad, dim, say, sayJson } from "../terminal.ts";
import { HANDLE, holderAt, openForWork, WORK_OPTIONS } from "../work.ts";

export const note = command({
  name: "note",
  summary: "writes down a step of accepted work, and keeps the work",
  args: [HANDLE, { name: "text", help: "what was done or found out, in quotes" }],
  options: {
    type: { type: "text", value: "<type>", help: "finding, decision, question, …; else step" },
    tag: { type: "texts", value: "<tag>", help: "a word to find it by" },
    ...WORK_OPTIONS,
  },

  async run({ args: [handle = "", content = ""], options: { type, tag, json, as, ...choice } }) {
    await using hub = await openForWork(choice);
    const agent = await holderAt(hub, handle, as);
    const noted = await agent.note(handle, { content, ...given({ type, tags: tag?.slice() }) });
    if (json) sayJson(noted);
    else sayNoted(noted);
    if (noted.kind === "kept") return ERROR_CODES.lease_lost.exit;
    const { delivery, envelope, sentAt } = await hub.delivery(handle.replace(/#.*$/, ""));
    if (!json && sentAt > delivery.acceptedAt) {
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
