import { BatonError } from "../../../base/errors.ts";
import type { Delivery } from "../../../history/delivery.ts";
import { AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { printDelivery } from "../../render/delivery.ts";
import { openExisting } from "../../store.ts";
import { dim, oneLine, printJson, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

export const cancel = command({
  name: "cancel",
  summary: "takes back a handoff, or all of a task that is open; whoever has it is told",
  args: [{ name: "delivery", help: "the delivery's id (dlv_…)", optional: true }],
  options: {
    ...AS_OPTION,
    task: { type: "text", value: "<task>", help: "everything of this task that is open" },
    reason: { type: "text", value: "<text>", help: "why", required: true },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [delivery], options: { as, task, reason, json, ...choice } }) {
    if ((delivery === undefined) === (task === undefined)) throw deliveryOrTaskRequired();
    await using hub = await openExisting(choice);
    const agent = await hub.agent(as);
    if (delivery !== undefined) await hub.deliveries.get(delivery); // An unknown id is told as such.
    const cancelled =
      delivery === undefined
        ? await agent.tasks.cancelHandoffs(task ?? "", reason)
        : await agent.deliveries.cancel(delivery, reason);
    if (delivery !== undefined && cancelled.length === 0) {
      throw alreadySettled((await hub.deliveries.get(delivery)).delivery);
    }
    if (json) printJson(cancelled);
    else if (cancelled.length === 0)
      printLine(dim(`Nothing of task "${oneLine(task ?? "")}" is open.`));
    else for (const row of cancelled) printDelivery(row);
    return OK;
  },
});

function deliveryOrTaskRequired(): BatonError {
  return usageError(
    "delivery",
    "baton cancel needs <delivery> or --task, one of them.",
    "Write baton cancel dlv_… for one handoff, --task <task> for all of a task.",
  );
}

function alreadySettled({ id, state }: Delivery): BatonError {
  return new BatonError("not_open", {
    message: `${id} was over already: it is ${state}.`,
    path: "delivery",
    hint: `See baton handoff show ${id}.`,
    details: { delivery: id, state },
  });
}
