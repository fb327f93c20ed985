/** The command `baton note`: record a step of accepted work and renew its lease. */
import { ERROR_CODES } from "../../../base/errors.ts";
import type { NoteResult } from "../../../delivery/work/note.ts";
import { command } from "../../command.ts";
import { OK } from "../../exit.ts";
import { MEMORY_OPTIONS, memoryInputOf } from "../../options/memory-options.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printRedactedSecrets } from "../../render/redacted-secrets.ts";
import { bad, dim, printJson, printLine } from "../../terminal.ts";
import { HANDLE, holderAt, openForWork, WORK_OPTIONS } from "../../work-by-handle.ts";

export const note = command({
  name: "note",
  summary: "Record a step of accepted work and renew its lease",
  args: [HANDLE, { name: "text", help: "what was done or found out, in quotes" }],
  options: {
    type: { type: "text", value: "<type>", help: "finding, decision, question, … (default: step)" },
    ...MEMORY_OPTIONS,
    ...WORK_OPTIONS,
  },

  async run({ args: [handle = "", content = ""], options }) {
    const { type, json, as, lease, store, workspace } = options;
    const input = { ...memoryInputOf(content, options), ...omitUndefined({ type }) };
    await using hub = await openForWork({ lease, store, workspace });
    const agent = await holderAt(hub, handle, as);
    const noted = await agent.deliveries.note(handle, input);
    if (json) printJson(noted);
    else printNoteResult(noted);
    if (noted.kind === "kept") return ERROR_CODES.lease_lost.exit;
    const { delivery, envelope, sentAt } = await hub.deliveries.get(handle.replace(/#.*/s, ""));
    if (!json && sentAt > (delivery.acceptedAt ?? 0)) {
      printLine(`The sender added to the work (${envelope.id}): baton handoff show ${delivery.id}`);
    }
    return OK;
  },
});

function printNoteResult({ kind, memory, secrets }: NoteResult): void {
  printLine(`${memory.id}${dim(`  ${memory.type} ${memory.seq} of ${memory.branch}`)}`);
  printRedactedSecrets(secrets);
  if (kind === "kept")
    printLine(
      bad("You no longer hold this work. The note was stored and marked; stop working on it."),
    );
}
