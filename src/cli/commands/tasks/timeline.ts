/**
 * The command `baton timeline`: show what happened to a task, in order, with failures, decisions and
 * reasons.
 */
import { AFTER_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printTimeline } from "../../render/timeline.ts";
import { unknownTaskMessage } from "../../render/unknown-task.ts";
import { openUpToDate } from "../../store.ts";
import { dim, printJson, printLine } from "../../terminal.ts";

export const timeline = command({
  name: "timeline",
  summary: "Show what happened to a task, in order, with failures, decisions and reasons",
  args: [{ name: "task", help: "task name" }],
  options: {
    children: { type: "flag", help: "include the parts of the task" },
    limit: { type: "number", value: "<n>", help: "number of newest records to show" },
    ...AFTER_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [task = ""], options: { children, limit, after, json, ...choice } }) {
    await using hub = await openUpToDate(choice);
    const found = await hub.tasks.timeline(task, omitUndefined({ children, limit, after }));
    if (json) printJson(found);
    else if (found.items.length === 0) printLine(dim(await unknownTaskMessage(hub, task)));
    else printTimeline(found);
    return OK;
  },
});
