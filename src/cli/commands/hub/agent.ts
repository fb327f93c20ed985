/** The commands of `baton agent`: add, pause and resume agents. */
import type { Hub } from "../../../hub/hub.ts";
import type { AgentInfo } from "../../../memory/agents.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { openExisting, openStore } from "../../store.ts";
import { bold, printJson, printLine } from "../../terminal.ts";

const AGENT = { name: "agent", help: "name or alias of the agent" } as const;

const add = command({
  name: "agent add",
  summary: "Register an agent or a person, or update its profile",
  args: [AGENT],
  options: {
    role: { type: "text", value: "<role>", help: "role, which receives handoffs to role:<role>" },
    alias: { type: "texts", value: "<name>", help: "additional name" },
    person: { type: "flag", help: "register a person instead of a program" },
    description: { type: "text", value: "<text>", help: "what it does" },
    model: {
      type: "text",
      value: "<model>",
      help: "model, such as gpt-4o; determines how tokens are counted",
    },
    window: {
      type: "number",
      value: "<tokens>",
      help: "size of its context window, which limits its views",
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
  "Stop delivering work to an agent; its inbox is kept",
  (hub, agent) => hub.agents.pause(agent),
);
const resume = statusCommand("resume", "Resume delivering work to a paused agent", (hub, agent) =>
  hub.agents.unpause(agent),
);

function printAgent(info: AgentInfo, json: boolean | undefined): void {
  if (json) printJson(info);
  else printLine(`${bold(info.id)}  ${info.role ?? "-"}  ${info.status}`);
}

export const agent = [add, pause, resume];
