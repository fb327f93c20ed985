import type { Waiting } from "../../../delivery/watch/inbox-listing.ts";
import { AFTER_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { mistake } from "../../mistake.ts";
import { given } from "../../options/given.ts";
import { notBefore } from "../../render/delivery.ts";
import { expectedOf } from "../../render/envelope.ts";
import { sayMore } from "../../render/more.ts";
import { sayWarnings } from "../../render/warnings.ts";
import { openExisting } from "../../store.ts";
import { bad, bold, dim, localTime, oneLine, say, sayJson } from "../../terminal.ts";

export const inbox = command({
  name: "inbox",
  summary: "what waits for an agent or is under way; looking never consumes",
  args: [{ name: "agent", help: "the agent's name or alias" }],
  options: {
    task: { type: "text", value: "<task>", help: "only of this task" },
    limit: { type: "number", value: "<n>", help: "how many" },
    ...AFTER_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options: { task, limit, after, json, ...choice } }) {
    if (name.startsWith("role:")) {
      throw mistake(
        "agent",
        "An inbox is an agent's; what is for a role is in those of all who have it.",
        "Name one of them: baton agents lists who has which role.",
      );
    }
    await using hub = await openExisting(choice);
    const agent = await hub.agent(name);
    const page = await agent.deliveries.waiting(given({ task, limit, after }));
    if (json) sayJson(page);
    else if (page.items.length === 0) say(dim(`Nothing waits for ${agent.id}.`));
    else {
      for (const each of page.items) {
        sayWaiting(each, agent.id);
        sayWarnings(await hub.deliveries.warnings(each.delivery.id));
      }
      sayMore(page.next);
    }
    return OK;
  },
});

function sayWaiting({ delivery: row, envelope }: Waiting, agent: string): void {
  const tries = row.attempt === 0 ? "" : `, attempt ${row.attempt} of ${row.maxAttempts}`;
  const shared = row.receiver === agent ? "" : ` for ${row.receiver}`;
  const until = row.deadline === undefined ? "" : `, until ${localTime(row.deadline)}`;
  const priority = envelope.priority === undefined ? "" : `, ${envelope.priority}`;
  const sent = dim(`, sent ${localTime(row.sentAt)}`);
  say(
    `${bold(row.state)}  ${row.task} from ${row.sender}${shared}${priority}${tries}${notBefore(row, envelope.after)}${until}${sent}`,
  );
  say(`  ${oneLine(envelope.intent, 2)}`);
  if (envelope.failure !== undefined) {
    const { type, class: kind, by, message } = envelope.failure;
    const who = by === undefined ? "" : ` by ${by}`;
    say(bad(`  ${oneLine(`failed: ${type} (${kind})${who}: ${message}`, 2)}`));
  }
  if (envelope.expects.length > 0) {
    say(`  ${oneLine(`asks for ${envelope.expects.map(expectedOf).join(", ")}`, 2)}`);
  }
  say(dim(`  ${row.id}`));
}
