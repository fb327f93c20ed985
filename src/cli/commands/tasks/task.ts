/** The commands of `baton task`: add, list, show, accept, close, reopen and cancel tasks. */

import type { Page } from "../../../base/page.ts";
import type { TaskInfo } from "../../../coordination/tasks/info.ts";
import type { TaskTree } from "../../../coordination/tasks/tree.ts";
import type { AddedTask } from "../../../hub/groups/tasks.ts";
import type { Hub } from "../../../hub/hub.ts";
import { AFTER_OPTION, AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { DRAFT_OPTIONS, draftOf } from "../../options/draft.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printField } from "../../render/envelope.ts";
import { printMore } from "../../render/next-page.ts";
import { openExisting, openUpToDate } from "../../store.ts";
import {
  bad,
  bold,
  dim,
  good,
  localTime,
  oneLine,
  printJson,
  printLine,
  table,
} from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";
import { LEASE_OPTION, openForWork } from "../../work-by-handle.ts";

const TASK = { name: "task", help: "task name" } as const;
const OPEN_STATES = ["open", "blocked", "in_progress"] as const;
const CLOSED_STATES = ["done", "failed", "cancelled"] as const;
const STATES = [...OPEN_STATES, ...CLOSED_STATES] as const;
type State = (typeof STATES)[number];

const { task: _named, delay: _delay, ...TASK_DRAFT_OPTIONS } = DRAFT_OPTIONS;

const add = command({
  name: "task add",
  summary: "Add a task to the queue of an agent or role, optionally after other tasks",
  args: [TASK, { name: "intent", help: "what the task is meant to achieve, in quotes" }],
  options: {
    ...AS_OPTION,
    to: {
      type: "text",
      value: "<receiver>",
      help: "receiver: an agent or role:<role> (default: by route)",
    },
    parent: { type: "text", value: "<task>", help: "task that it is a part of" },
    after: { type: "texts", value: "<task>", help: "task that must be done before it starts" },
    manual: { type: "flag", help: "keep the task open when its work ends, until baton task close" },
    ...TASK_DRAFT_OPTIONS,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [task = "", intent = ""], options }) {
    const { as, to, parent, after, manual, file, json, store, workspace } = options;
    await using hub = await openForWork({ store, workspace });
    const agent = await hub.agent(as);
    const { withFiles } = await import("../../options/artifacts.ts");
    const said = { ...draftOf({ ...options, task }), ...omitUndefined({ to }) };
    const draft = { ...(await withFiles(hub, said, file)), task, intent };
    const closing = manual ? ("manual" as const) : undefined;
    const added = await agent.tasks.add({ ...draft, ...omitUndefined({ parent, after, closing }) });
    if (json) printJson(shownAs(added));
    else printLine(rowOf(added.task).filter(Boolean).join("  "));
    return OK;
  },
});

const shownAs = ({ task, sent }: AddedTask) => ({
  ...task,
  delivery: sent.id,
  joined: sent.joined,
});

const list = command({
  name: "task list",
  summary: "List open, blocked and in-progress tasks, or closed ones",
  args: [],
  options: {
    state: { type: "text", value: "<state>", help: STATES.join(", "), choices: STATES },
    closed: { type: "flag", help: "only closed tasks, most recently closed first" },
    to: { type: "text", value: "<receiver>", help: "only tasks sent to this agent or role:…" },
    role: { type: "text", value: "<role>", help: "only tasks sent to this role" },
    agent: {
      type: "text",
      value: "<agent>",
      help: "only tasks that this agent holds or that wait for it by name",
    },
    parent: { type: "text", value: "<task>", help: "only parts of this task" },
    limit: { type: "number", value: "<n>", help: "maximum number of results" },
    ...AFTER_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({
    options: { state, closed, to, role, agent, parent, limit, after, json, ...choice },
  }) {
    await using hub = await openUpToDate(choice);
    const page = omitUndefined({ limit, parent });
    const ended = CLOSED_STATES.find((each) => each === state);
    if (closed || ended !== undefined) {
      const other = Object.keys(omitUndefined({ to, role, agent }))[0];
      if (other !== undefined) throw onlyOpen(other);
      if (state !== undefined && ended === undefined) throw notClosedAs(state);
      await printClosedTasks(
        hub,
        { ...page, ...omitUndefined({ after }), ...(ended && { states: [ended] }) },
        json,
      );
      return OK;
    }
    const wanted = OPEN_STATES.find((each) => each === state);
    const tasks = await hub.tasks.board({
      ...page,
      ...omitUndefined({ to, role, agent, after }),
      ...(wanted && { states: [wanted] }),
    });
    if (json) printJson(tasks);
    else printBoard(hub, tasks);
    return OK;
  },
});

const onlyOpen = (option: string) =>
  usageError(
    `--${option}`,
    `--${option} applies only to tasks that are not closed.`,
    "Filter closed tasks with --state and --parent.",
  );

const notClosedAs = (state: string) =>
  usageError(
    "--state",
    `--closed and --state ${state} conflict: ${state} is not a closed state.`,
    `Omit --closed, or use one of: ${CLOSED_STATES.join(", ")}.`,
  );

/** Prints tasks grouped by state; expects them sorted by state, as the board returns them. */
function printBoard(hub: Hub, { items, next }: Page<TaskInfo>): void {
  if (items.length === 0) printLine(dim(`No open tasks in workspace "${hub.workspace}".`));
  const lines = table(items.map(rowOf));
  for (const state of OPEN_STATES) {
    const here = lines.splice(0, items.filter((each) => each.state === state).length);
    if (here.length === 0) continue;
    printLine(`${coloured(state)} ${dim(`(${here.length})`)}`);
    for (const line of here) printLine(`  ${line}`);
  }
  printMore(next);
}

async function printClosedTasks(
  hub: Hub,
  query: Parameters<Hub["tasks"]["closed"]>[0],
  json: boolean | undefined,
): Promise<void> {
  const page = await hub.tasks.closed(query);
  if (json) return printJson(page);
  if (page.items.length === 0) printLine(dim(`No closed tasks in workspace "${hub.workspace}".`));
  for (const row of table(page.items.map((each) => [each.state, ...rowOf(each)]))) printLine(row);
  printMore(page.next);
}

const show = command({
  name: "task show",
  summary: "Show the state of a task, its holder and its handoffs",
  args: [TASK],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [task = ""], options }) {
    await using hub = await openUpToDate(options);
    const info = await hub.tasks.get(task);
    if (options.json) printJson(info);
    else printTask(info);
    return OK;
  },
});

const tree = command({
  name: "task tree",
  summary: "Show a task with all of its parts",
  args: [TASK],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [task = ""], options }) {
    await using hub = await openUpToDate(options);
    const root = await hub.tasks.tree(task);
    if (options.json) printJson(root);
    else printTaskTree(root, "", "");
    return OK;
  },
});

/** Prints the task with the prefix `own` and its parts with the prefix `below`. */
function printTaskTree({ parts, ...info }: TaskTree, own: string, below: string): void {
  const name = `${own}${oneLine(info.task)}`;
  printLine(`${name}  ${coloured(info.state)}  ${dim(oneLine(info.why, name.length + 14))}`);
  for (const [i, part] of parts.entries()) {
    const isLast = i === parts.length - 1;
    printTaskTree(part, `${below}${isLast ? "└─ " : "├─ "}`, `${below}${isLast ? "   " : "│  "}`);
  }
}

const REASON = { type: "text", value: "<text>", help: "reason", required: true } as const;

const close = command({
  name: "task close",
  summary: "Close a task; refused while any of its work is open",
  args: [TASK],
  options: {
    ...AS_OPTION,
    reason: REASON,
    state: {
      type: "text",
      value: "<state>",
      help: `${CLOSED_STATES.join(", ")} (default: done)`,
      choices: CLOSED_STATES,
    },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [task = ""], options: { as, reason, state, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const closing = CLOSED_STATES.find((each) => each === state) ?? "done";
    const closed = await (await hub.agent(as)).tasks.close(task, { as: closing, reason });
    printChangedTask(closed, json);
    return OK;
  },
});

const reopen = command({
  name: "task reopen",
  summary: "Reopen a closed task; tasks that started after it continue",
  args: [TASK],
  options: { ...AS_OPTION, reason: REASON, ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [task = ""], options: { as, reason, json, ...choice } }) {
    await using hub = await openExisting(choice);
    printChangedTask(await (await hub.agent(as)).tasks.reopen(task, reason), json);
    return OK;
  },
});

const cancel = command({
  name: "task cancel",
  summary: "Cancel all open deliveries of a task and its parts, and close them",
  args: [TASK],
  options: { ...AS_OPTION, reason: REASON, ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [task = ""], options: { as, reason, json, ...choice } }) {
    await using hub = await openExisting(choice);
    printChangedTask(await (await hub.agent(as)).tasks.cancel(task, reason), json);
    return OK;
  },
});

const next = command({
  name: "task next",
  summary: "Accept the first task of the queue for an agent, and print its handle",
  args: [],
  options: { ...AS_OPTION, ...LEASE_OPTION, ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ options }) {
    const { as, json, store, workspace } = options;
    const first = await firstQueued({ store, workspace }, as);
    if (first !== undefined) {
      const { accept } = await import("../handoffs/accept.ts");
      return accept.run({ args: [first], options });
    }
    if (json) printJson(null);
    else printLine(dim(`No task of the queue is ready for ${as}.`));
    return OK;
  },
});

async function firstQueued(
  choice: Parameters<typeof openExisting>[0],
  as: string,
): Promise<string | undefined> {
  await using hub = await openExisting(choice);
  const agent = await hub.agent(as, undefined, { lease: "session" });
  await hub.deliveries.runDue(); // Short-lived process: apply timeouts that are due before claiming.
  const waiting = (await agent.deliveries.waiting()).items;
  return waiting.find(
    ({ delivery, envelope }) =>
      delivery.state === "ready" && delivery.inTurn && envelope.queued === true,
  )?.delivery.id;
}

function printChangedTask(info: TaskInfo, json: boolean | undefined): void {
  if (json) printJson(info);
  else printTask(info);
}

function printTask(info: TaskInfo): void {
  printLine(`${bold(oneLine(info.task))}  ${coloured(info.state)}`);
  printField("why", [info.why]);
  printField("intent", [info.intent]);
  printField("for", info.to === undefined ? [] : [info.to]);
  printField("priority", info.priority === "normal" ? [] : [info.priority]);
  printField("deadline", info.deadline === undefined ? [] : [localTime(info.deadline)]);
  printField("part of", info.parent === undefined ? [] : [info.parent]);
  printField("after", info.after);
  printField("parts", info.children === 0 ? [] : [`${info.children}, ${info.openChildren} open`]);
  printField("added", [
    `by ${info.by}, ${localTime(info.queuedAt)}${info.queued ? "" : ", not in the queue"}`,
  ]);
  printField(
    "handoffs",
    info.deliveries.map(
      ({ id, state, receiver, holder, failure }) =>
        `${id} ${state}, ${holder && holder !== receiver ? `${holder} (${receiver})` : receiver}${failure ? ", failure to decide" : ""}`,
    ),
  );
}

const rowOf = (info: TaskInfo): string[] => [
  oneLine(info.task),
  info.priority === "normal" ? "" : info.priority,
  info.to ?? "",
  oneLine(info.why),
];

const COLOURS: Readonly<Record<State, (text: string) => string>> = {
  open: bold,
  blocked: bad,
  in_progress: bold,
  done: good,
  failed: bad,
  cancelled: dim,
};

const coloured = (state: State): string => COLOURS[state](state.replace("_", " "));

export const task = [list, add, show, tree, next, close, reopen, cancel];
