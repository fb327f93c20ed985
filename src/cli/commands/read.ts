import type { Memory } from "../../memory/record.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../command.ts";
import { OK } from "../exit.ts";
import { given } from "../given.ts";
import { momentOf, READER_OPTIONS, readerOf } from "../reader.ts";
import { openExisting } from "../store.ts";
import { bold, dim, localTime, printable, say, sayJson } from "../terminal.ts";

export const read = command({
  name: "read",
  summary: "one memory by its id, on whatever branch it is",
  args: [{ name: "memory", help: "the memory's id (mem_…)" }],
  options: {
    as: READER_OPTIONS.as,
    "as-of": READER_OPTIONS["as-of"],
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [id = ""], options: { as, "as-of": asOf, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const reader = await readerOf(hub, as, undefined);
    const memory = await reader.read(id, given({ asOf: momentOf(asOf) }));
    if (json) sayJson(memory);
    else sayMemory(memory);
    return OK;
  },
});

function sayMemory(memory: Memory): void {
  const { type, agent, task, storedAt, branch, seq, scope, content, redacted } = memory;
  const about = task === undefined ? "" : ` on ${task}`;
  const place = `, ${localTime(storedAt)}, ${seq} of ${branch}`;
  const open = scope === undefined || scope === "team" ? "" : `, for the ${scope} only`;
  say(`${bold(type)}  ${agent}${about}${dim(`${place}${open}`)}`);
  say(printable(redacted ? `(redacted by ${redacted.by}: ${redacted.reason})` : content));
  for (const { kind, to } of memory.relations ?? []) say(dim(`${kind} ${to}`));
}
