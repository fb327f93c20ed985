/** The commands of `baton breaker`: list and reset the circuit breakers of receivers (agents and roles). */
import type { BreakerInfo } from "../../../delivery/settings/breaker.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, localTime, plural, printJson, printLine } from "../../terminal.ts";

const list = command({
  name: "breaker list",
  summary: "List circuit breakers of receivers that recently lost work",
  args: [],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ options }) {
    await using hub = await openExisting(options);
    const breakers = await hub.agents.breakers();
    if (options.json) printJson(breakers);
    else if (breakers.length === 0) printLine(dim("No receiver lost work recently."));
    else for (const breaker of breakers) printBreaker(breaker);
    return OK;
  },
});

function printBreaker({ receiver, state, deliveries, passesAt }: BreakerInfo): void {
  const when = passesAt === undefined ? "" : `, next attempt allowed ${localTime(passesAt)}`;
  printLine(
    `${receiver}  ${bold(state)}, ${plural(deliveries.length, "handoff")} lost in a row${when}`,
  );
  for (const delivery of deliveries) printLine(dim(`  ${delivery}`));
}

const reset = command({
  name: "breaker reset",
  summary: "Close a receiver's circuit breaker, so that work is sent to it again",
  args: [{ name: "receiver", help: "agent or role:<role>" }],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [name = ""], options }) {
    await using hub = await openExisting(options);
    const receiver = name.startsWith("role:") ? name : (await hub.agent(name)).id;
    await hub.agents.resetBreaker(receiver);
    if (options.json) printJson({ receiver, state: "closed" });
    else printLine(`${receiver}  ${bold("closed")}`);
    return OK;
  },
});

export const breaker = [list, reset];
