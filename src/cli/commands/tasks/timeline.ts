import { AFTER_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printTimeline } from "../../render/timeline.ts";
import { unknownTaskMessage } from "../../render/unknown-task.ts";
import { openExisting } from "../../store.ts";
import { dim, printJson, printLine } from "../../terminal.ts";

export const timeline = command({
  name: "timeline",
  summary: "what happened to a task, in order: who did what, what went wrong, who decided and why",
  args: [{ name: "task", help: "the task's name" }],
  options: {
    children: { type: "flag", help: "also what happened to the tasks that are part of it" },
    limit: { type: "number", value: "<n>", help: "so many records, the newest" },
    ...AFTER_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [task = ""], options: { children, limit, after, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const found = await hub.tasks.timeline(task, omitUndefined({ children, limit, after }));
    if (json) printJson(found);
    else if (found.items.length === 0) printLine(dim(await unknownTaskMessage(hub, task)));
    else printTimeline(found);
    return OK;
  },
});
