import { AFTER_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { given } from "../../options/given.ts";
import { nothingOf } from "../../options/no-task.ts";
import { sayTimeline } from "../../render/timeline.ts";
import { openExisting } from "../../store.ts";
import { dim, say, sayJson } from "../../terminal.ts";

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
    const found = await hub.tasks.timeline(task, given({ children, limit, after }));
    if (json) sayJson(found);
    else if (found.items.length === 0) say(dim(await nothingOf(hub, task)));
    else sayTimeline(found);
    return OK;
  },
});
