import type { BreakerInfo } from "../../../delivery/settings/breaker.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, localTime, plural, printJson, printLine } from "../../terminal.ts";

const list = command({
  name: "breaker list",
  summary: "receivers that lost work lately, and whether anything is sent to them",
  args: [],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ options }) {
    await using hub = await openExisting(options);
    const breakers = await hub.agents.breakers();
    if (options.json) printJson(breakers);
    else if (breakers.length === 0) printLine(dim("No receiver has lost any work lately."));
    else for (const breaker of breakers) printBreaker(breaker);
    return OK;
  },
});

function printBreaker({ receiver, state, deliveries, passesAt }: BreakerInfo): void {
  const when = passesAt === undefined ? "" : `, one may pass ${localTime(passesAt)}`;
  printLine(
    `${receiver}  ${bold(state)}, ${plural(deliveries.length, "handoff")} given up in a row${when}`,
  );
  for (const delivery of deliveries) printLine(dim(`  ${delivery}`));
}

const reset = command({
  name: "breaker reset",
  summary: "closes a receiver's breaker: things are sent to it again",
  args: [{ name: "receiver", help: "an agent, or role:<role>" }],
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
