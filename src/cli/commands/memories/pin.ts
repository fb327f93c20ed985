/** The command `baton pin`: include a memory in every handoff, remove the pin (--off), or list pins. */
import { AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { openExisting } from "../../store.ts";
import { dim, oneLine, printJson, printLine, table } from "../../terminal.ts";

export const pin = command({
  name: "pin",
  summary: "Include a memory in every handoff, remove the pin (--off), or list pins",
  args: [{ name: "memory", help: "memory id (mem_…)", optional: true }],
  options: {
    ...AS_OPTION,
    off: { type: "flag", help: "remove the pin" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [memory], options: { as, off, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const agent = await hub.agent(as);
    if (memory !== undefined)
      await (off ? agent.memories.unpin(memory) : agent.memories.pin(memory));
    const pinned = await agent.memories.pins();
    if (json) printJson(pinned);
    else if (pinned.length === 0) printLine(dim("No pinned memories."));
    else for (const row of table(pinned.map(rowOf))) printLine(row);
    return OK;
  },
});

const rowOf = ({ id, type, content }: { id: string; type: string; content: string }): string[] => [
  id,
  oneLine(`${type}: ${content}`, id.length + 2),
];
