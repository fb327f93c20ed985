import { command, JSON_OPTION, STORE_OPTIONS } from "../command.ts";
import { OK } from "../exit.ts";
import { openExisting } from "../store.ts";
import { dim, oneLine, say, sayJson, table } from "../terminal.ts";

export const agents = command({
  name: "agents",
  summary: "who is registered, with roles and aliases",
  args: [],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ options }) {
    await using hub = await openExisting(options);
    const known = await hub.agents();
    if (options.json) sayJson(known);
    else if (known.length === 0) say(dim(`No agents in workspace "${hub.workspace}" yet.`));
    else {
      const rows = known.map(({ id, role, aliases, status, publicKey, description }) => [
        id,
        role || "-",
        aliases.length === 0 ? "" : `also ${aliases.join(", ")}`,
        [status === "active" ? "" : status, publicKey && "signs"].filter(Boolean).join(", "),
        oneLine(description ?? ""),
      ]);
      for (const row of table(rows)) say(row);
    }
    return OK;
  },
});
