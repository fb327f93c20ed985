/** The commands of `baton dead`: list, show, redrive and discard dead letters. */
import type { DeadLetter } from "../../../delivery/settle/dead-letters.ts";
import {
  AFTER_OPTION,
  AS_OPTION,
  command,
  DELIVERY,
  JSON_OPTION,
  STORE_OPTIONS,
} from "../../command.ts";
import { OK } from "../../exit.ts";
import { CONTENT_OPTIONS, contentOf } from "../../options/draft.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { attemptOf, printDelivery, printDeliveryDetails } from "../../render/delivery.ts";
import { printEnvelope, printField } from "../../render/envelope.ts";
import { printMore } from "../../render/next-page.ts";
import { openExisting, openUpToDate } from "../../store.ts";
import { dim, printJson, printLine } from "../../terminal.ts";

const DEFAULT_LIMIT = 20;
const { next, state, payload, "payload-type": payloadType } = CONTENT_OPTIONS;

const list = command({
  name: "dead list",
  summary: "List dead letters, with every attempt and why it ended",
  args: [],
  options: {
    receiver: { type: "text", value: "<name>", help: "only for this agent or role:<role>" },
    sender: { type: "text", value: "<agent>", help: "only from this agent" },
    task: { type: "text", value: "<task>", help: "only of this task" },
    limit: {
      type: "number",
      value: "<n>",
      help: `maximum number of results (default: ${DEFAULT_LIMIT})`,
    },
    ...AFTER_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options: { limit = DEFAULT_LIMIT, after, json, store, workspace, ...filter } }) {
    await using hub = await openUpToDate({ store, workspace });
    const page = await hub.deadLetters.list({ limit, ...omitUndefined({ ...filter, after }) });
    if (json) printJson(page);
    else if (page.items.length === 0) printLine(dim("No matching dead letters."));
    else for (const letter of page.items) printDeadLetter(letter);
    if (!json) printMore(page.next);
    return OK;
  },
});

function printDeadLetter({ delivery, envelope, attempts }: DeadLetter): void {
  printDelivery(delivery);
  printField("intent", [envelope.intent]);
  printField("attempts", attempts.map(attemptOf));
}

const show = command({
  name: "dead show",
  summary: "Show a dead letter with its attempts and envelope",
  args: [DELIVERY],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [id = ""], options }) {
    await using hub = await openUpToDate(options);
    const shown = await hub.deliveries.get(id);
    if (options.json) printJson(shown);
    else {
      printDeliveryDetails(shown);
      printLine();
      await printEnvelope(hub, shown.envelope);
    }
    return OK;
  },
});

const redrive = command({
  name: "dead redrive",
  summary: "Redeliver a dead letter, unchanged, to another receiver or with changes",
  args: [DELIVERY],
  options: {
    ...AS_OPTION,
    to: { type: "text", value: "<receiver>", help: "other receiver: an agent or role:<role>" },
    next,
    state,
    payload,
    "payload-type": payloadType,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [id = ""], options }) {
    const { as, to, json, store, workspace } = options;
    await using hub = await openExisting({ store, workspace });
    await hub.deliveries.get(id); // Throws for an unknown id.
    const agent = await hub.agent(as);
    const content = contentOf(options);
    const changes = { next: content.next, state: content.state, payload: content.payload, to };
    const row = await agent.deadLetters.redrive(id, omitUndefined(changes));
    if (json) printJson(row);
    else printDelivery(row);
    return OK;
  },
});

const discard = command({
  name: "dead discard",
  summary: "Discard a dead letter permanently",
  args: [DELIVERY, { name: "reason", help: "reason, in quotes" }],
  options: { ...AS_OPTION, ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [id = "", reason = ""], options: { as, json, ...choice } }) {
    await using hub = await openExisting(choice);
    await hub.deliveries.get(id); // Throws for an unknown id.
    const agent = await hub.agent(as);
    const row = await agent.deadLetters.discard(id, reason);
    if (json) printJson(row);
    else printDelivery(row);
    return OK;
  },
});

export const dead = [list, show, redrive, discard];
