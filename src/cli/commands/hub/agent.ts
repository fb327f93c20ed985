import type { Hub } from "../../../hub/hub.ts";
import type { AgentInfo } from "../../../memory/agents.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { openExisting, openStore } from "../../store.ts";
import { bold, printJson, printLine } from "../../terminal.ts";

const AGENT = { name: "agent", help: "the agent's name or alias" } as const;

const add = command({
  name: "agent add",
  summary: "registers an agent or a person, or adds to what is known of it",
  args: [AGENT],
  options: {
    role: { type: "text", value: "<role>", help: "what handoffs to role:<role> reach it" },
    alias: { type: "texts", value: "<name>", help: "a name it is also known by" },
    person: { type: "flag", help: "a person, who answers when it suits" },
    description: { type: "text", value: "<text>", help: "what it does" },
    model: {
      type: "text",
      value: "<model>",
      help: "its model, as in gpt-4o: how its tokens are counted",
    },
    window: {
      type: "number",
      value: "<tokens>",
      help: "its context window, which views leave room in",
    },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options }) {
    const { role, alias, person, description, model, window, json, ...choice } = options;
    await using hub = await openStore(choice);
    const kind = person ? ("person" as const) : undefined;
    const profile = omitUndefined({
      role,
      aliases: alias?.slice(),
      kind,
      description,
      model,
      window,
    });
    printAgent((await hub.agent(name, profile)).info, json);
    return OK;
  },
});

const statusCommand = (
  verb: string,
  summary: string,
  change: (hub: Hub, agent: string) => Promise<void>,
) =>
  command({
    name: `agent ${verb}`,
    summary,
    args: [AGENT],
    options: { ...STORE_OPTIONS, ...JSON_OPTION },

    async run({ args: [name = ""], options }) {
      await using hub = await openExisting(options);
      await change(hub, name);
      printAgent((await hub.agent(name)).info, options.json);
      return OK;
    },
  });

const pause = statusCommand(
  "pause",
  "it keeps its inbox, and is given nothing from it",
  (hub, agent) => hub.agents.pause(agent),
);
const resume = statusCommand("resume", "it is given work again", (hub, agent) =>
  hub.agents.unpause(agent),
);

function printAgent(info: AgentInfo, json: boolean | undefined): void {
  if (json) printJson(info);
  else printLine(`${bold(info.id)}  ${info.role ?? "-"}  ${info.status}`);
}

export const agent = [add, pause, resume];
