/** The command `baton inbox`: lists an agent's waiting and accepted handoffs, without claiming any. */
import type { DeliveryWithEnvelope } from "../../../delivery/watch/inbox-listing.ts";
import { AFTER_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { notBefore } from "../../render/delivery.ts";
import { expectedOf } from "../../render/envelope.ts";
import { printMore } from "../../render/next-page.ts";
import { printWarnings } from "../../render/warnings.ts";
import { openUpToDate } from "../../store.ts";
import { bad, bold, dim, localTime, oneLine, printJson, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

export const inbox = command({
  name: "inbox",
  summary: "List an agent's waiting and accepted handoffs, without claiming any",
  args: [{ name: "agent", help: "name or alias of the agent" }],
  options: {
    task: { type: "text", value: "<task>", help: "only of this task" },
    limit: { type: "number", value: "<n>", help: "maximum number of results" },
    ...AFTER_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options: { task, limit, after, json, ...choice } }) {
    if (name.startsWith("role:")) {
      throw usageError(
        "agent",
        "A role has no inbox; its handoffs are in the inboxes of all agents with that role.",
        "Pass the name of an agent; baton agents lists agents and roles.",
      );
    }
    await using hub = await openUpToDate(choice);
    const agent = await hub.agent(name);
    const page = await agent.deliveries.waiting(omitUndefined({ task, limit, after }));
    if (json) printJson(page);
    else if (page.items.length === 0) printLine(dim(`The inbox of ${agent.id} is empty.`));
    else {
      for (const each of page.items) {
        printInboxEntry(each, agent.id);
        printWarnings(await hub.deliveries.warnings(each.delivery.id));
      }
      printMore(page.next);
    }
    return OK;
  },
});

function printInboxEntry({ delivery: row, envelope }: DeliveryWithEnvelope, agent: string): void {
  const attempts = row.attempt === 0 ? "" : `, attempt ${row.attempt} of ${row.maxAttempts}`;
  const shared = row.receiver === agent ? "" : ` for ${row.receiver}`;
  const until = row.deadline === undefined ? "" : `, due ${localTime(row.deadline)}`;
  const priority = envelope.priority === undefined ? "" : `, ${envelope.priority}`;
  const sent = dim(`, sent ${localTime(row.sentAt)}`);
  printLine(
    `${bold(row.state)}  ${row.task} from ${row.sender}${shared}${priority}${attempts}${notBefore(row, envelope.after)}${until}${sent}`,
  );
  printLine(`  ${oneLine(envelope.intent, 2)}`);
  if (envelope.failure !== undefined) {
    const { type, class: kind, by, message } = envelope.failure;
    const who = by === undefined ? "" : ` by ${by}`;
    printLine(bad(`  ${oneLine(`failed: ${type} (${kind})${who}: ${message}`, 2)}`));
  }
  if (envelope.expects.length > 0) {
    printLine(`  ${oneLine(`expects ${envelope.expects.map(expectedOf).join(", ")}`, 2)}`);
  }
  // The handle of accepted work, so that a session that lost it can go on.
  const isOwn = row.state === "accepted" && row.holder === agent;
  printLine(dim(`  ${isOwn ? `${row.id}#${row.fence}` : row.id}`));
}
