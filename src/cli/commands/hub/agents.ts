/** The command `baton agents`: list registered agents with roles, aliases, models and context windows. */
import type { AgentInfo } from "../../../memory/agents.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { openExisting } from "../../store.ts";
import { dim, oneLine, printJson, printLine, table } from "../../terminal.ts";

export const agents = command({
  name: "agents",
  summary: "List registered agents with roles, aliases, models and context windows",
  args: [],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ options }) {
    await using hub = await openExisting(options);
    const known = await hub.agents.list();
    if (options.json) printJson(known);
    else if (known.length === 0) printLine(dim(`No agents in workspace "${hub.workspace}" yet.`));
    else {
      const rows = known.map((agent) => {
        const { id, role, aliases, status, publicKey, description } = agent;
        return [
          id,
          role ?? "-",
          modelOf(agent),
          aliases.length === 0 ? "" : `also ${aliases.join(", ")}`,
          [status === "active" ? "" : status, publicKey && "signs"].filter(Boolean).join(", "),
          oneLine(description ?? ""),
        ];
      });
      for (const row of table(rows)) printLine(row);
    }
    return OK;
  },
});

/** Formats model and window: `gpt-4o, 128,000 tokens`. */
const modelOf = ({ model, window }: AgentInfo): string =>
  [model, window && `${window.toLocaleString("en")} tokens`].filter(Boolean).join(", ");
