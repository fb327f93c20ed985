import type { DeliveryRow } from "../../store/rows.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../command.ts";
import { OK } from "../exit.ts";
import { openExisting } from "../store.ts";
import { bold, dim, localTime, oneLine, say, sayJson } from "../terminal.ts";

export const inbox = command({
  name: "inbox",
  summary: "what waits for an agent or is under way; looking never consumes",
  args: [{ name: "agent", help: "the agent's name or alias" }],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [name = ""], options }) {
    await using hub = await openExisting(options);
    const agent = await hub.agent(name);
    const waiting = await agent.waiting();
    if (options.json) sayJson(waiting);
    else if (waiting.length === 0) say(dim(`Nothing waits for ${agent.id}.`));
    else for (const { delivery, envelope } of waiting) sayDelivery(delivery, envelope.intent);
    return OK;
  },
});

function sayDelivery(row: DeliveryRow, intent: string): void {
  const tries = row.attempt === 0 ? "" : `, attempt ${row.attempt} of ${row.maxAttempts}`;
  say(
    `${bold(row.state)}  ${row.task} from ${row.sender}${tries}${dim(`, sent ${localTime(row.sentAt)}`)}`,
  );
  say(`  ${oneLine(intent, 2)}`);
  say(dim(`  ${row.id}`));
}
