import type { LineStep } from "../../../delivery/watch/task-line.ts";
import type { Delivery } from "../../../history/delivery.ts";
import type { Hub } from "../../../hub/hub.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { nothingOf } from "../../options/no-task.ts";
import { attemptOf, secondsBetween } from "../../render/delivery.ts";
import { sayEnvelope, sayField } from "../../render/envelope.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, localTime, oneLine, plural, say, sayJson } from "../../terminal.ts";

export const line = command({
  name: "line",
  summary: "a task's handoffs in order, each with where it stands",
  args: [{ name: "task", help: "the task's name" }],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [task = ""], options }) {
    await using hub = await openExisting(options);
    const steps = await hub.tasks.line(task);
    if (options.json) sayJson(steps);
    else if (steps.length === 0) say(dim(await nothingOf(hub, task)));
    else {
      say(`${bold(oneLine(task))}${dim(`, ${plural(steps.length, "handoff")}`)}`);
      for (const step of steps) await sayStep(hub, step);
    }
    return OK;
  },
});

async function sayStep(hub: Hub, { envelope, deliveries }: LineStep): Promise<void> {
  say();
  await sayEnvelope(hub, envelope);
  if (deliveries.length === 0) sayField("state", ["replaced by a newer envelope"]);
  for (const delivery of deliveries) {
    sayField("delivery", [delivery.id]);
    sayField("state", [stateOf(delivery)]);
    sayField("tries", (await hub.deliveries.attempts(delivery.id)).map(attemptOf));
  }
}

/** Times count from sending. */
function stateOf({ state, attempt, maxAttempts, ...at }: Delivery): string {
  const later = [
    ["accepted", at.acceptedAt],
    ["ended", at.settledAt],
  ] as const;
  const told = later.map(([what, time]) =>
    time ? `, ${what} +${secondsBetween(at.sentAt, time)}` : "",
  );
  return `${state} on attempt ${attempt} of ${maxAttempts}, sent ${localTime(at.sentAt)}${told.join("")}`;
}
