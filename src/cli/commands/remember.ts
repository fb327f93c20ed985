import { command, JSON_OPTION, STORE_OPTIONS } from "../command.ts";
import { OK } from "../exit.ts";
import { given } from "../given.ts";
import { openExisting } from "../store.ts";
import { dim, say, sayJson } from "../terminal.ts";

export const remember = command({
  name: "remember",
  summary: "writes one memory down, for everybody in the workspace",
  args: [{ name: "text", help: "what to remember, in quotes" }],
  options: {
    agent: {
      type: "text",
      value: "<name>",
      help: "who remembers it; must be registered",
      required: true,
    },
    task: { type: "text", value: "<task>", help: "what it is about" },
    type: { type: "text", value: "<type>", help: "decision, finding, lesson, …; else fact" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [content = ""], options: { agent, task, type, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const author = await hub.agent(agent);
    const memory = await author.remember({
      content,
      ...given({ task, type }),
    });
    if (json) sayJson(memory);
    else say(`${memory.id}${dim(`  ${memory.type} ${memory.seq} of ${memory.branch}`)}`);
    return OK;
  },
});
