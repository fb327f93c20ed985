/** The command `baton cancel`: cancels one handoff, or all open handoffs of a task. */
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
  summary: "Cancel a handoff, or all open handoffs of a task, and notify their holders",
  args: [{ name: "delivery", help: "delivery id (dlv_…)", optional: true }],
  options: {
    ...AS_OPTION,
    task: { type: "text", value: "<task>", help: "task to cancel all open handoffs of" },
    reason: { type: "text", value: "<text>", help: "reason", required: true },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [delivery], options: { as, task, reason, json, ...choice } }) {
    if ((delivery === undefined) === (task === undefined)) throw deliveryOrTaskRequired();
    await using hub = await openExisting(choice);
    const agent = await hub.agent(as);
    if (delivery !== undefined) await hub.deliveries.get(delivery); // Throws for an unknown id.
    const cancelled =
      delivery === undefined
        ? await agent.tasks.cancelHandoffs(task ?? "", reason)
        : await agent.deliveries.cancel(delivery, reason);
    if (delivery !== undefined && cancelled.length === 0) {
      throw alreadySettled((await hub.deliveries.get(delivery)).delivery);
    }
    if (json) printJson(cancelled);
    else if (cancelled.length === 0)
      printLine(dim(`No open handoffs of task "${oneLine(task ?? "")}".`));
    else for (const row of cancelled) printDelivery(row);
    return OK;
  },
});

function deliveryOrTaskRequired(): BatonError {
  return usageError(
    "delivery",
    "baton cancel needs either <delivery> or --task.",
    "Pass dlv_… to cancel one handoff, or --task <task> to cancel all of a task.",
  );
}

function alreadySettled({ id, state }: Delivery): BatonError {
  return new BatonError("not_open", {
    message: `${id} is already settled: its state is ${state}.`,
    path: "delivery",
    hint: `See baton handoff show ${id}.`,
    details: { delivery: id, state },
  });
}
