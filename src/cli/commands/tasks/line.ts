/** The command `baton line`: show the handoffs of a task in order, each with its state. */
import type { LineStep } from "../../../delivery/watch/task-line.ts";
import type { Delivery } from "../../../history/delivery.ts";
import type { Hub } from "../../../hub/hub.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { attemptOf, secondsBetween } from "../../render/delivery.ts";
import { printEnvelope, printField } from "../../render/envelope.ts";
import { unknownTaskMessage } from "../../render/unknown-task.ts";
import { openUpToDate } from "../../store.ts";
import { bold, dim, localTime, oneLine, plural, printJson, printLine } from "../../terminal.ts";

export const line = command({
  name: "line",
  summary: "Show the handoffs of a task in order, each with its state",
  args: [{ name: "task", help: "task name" }],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [task = ""], options }) {
    await using hub = await openUpToDate(options);
    const steps = await hub.tasks.line(task);
    if (options.json) printJson(steps);
    else if (steps.length === 0) printLine(dim(await unknownTaskMessage(hub, task)));
    else {
      printLine(`${bold(oneLine(task))}${dim(`, ${plural(steps.length, "handoff")}`)}`);
      for (const step of steps) await printStep(hub, step);
    }
    return OK;
  },
});

async function printStep(hub: Hub, { envelope, deliveries }: LineStep): Promise<void> {
  printLine();
  await printEnvelope(hub, envelope);
  if (deliveries.length === 0) printField("state", ["replaced by a newer envelope"]);
  for (const delivery of deliveries) {
    printField("delivery", [delivery.id]);
    printField("state", [stateOf(delivery)]);
    printField("attempts", (await hub.deliveries.attempts(delivery.id)).map(attemptOf));
  }
}

/** Formats the state of a delivery, with times relative to sending. */
function stateOf({ state, attempt, maxAttempts, ...at }: Delivery): string {
  const later = [
    ["accepted", at.acceptedAt],
    ["ended", at.settledAt],
  ] as const;
  const times = later.map(([what, time]) =>
    time ? `, ${what} +${secondsBetween(at.sentAt, time)}` : "",
  );
  return `${state} on attempt ${attempt} of ${maxAttempts}, sent ${localTime(at.sentAt)}${times.join("")}`;
}
