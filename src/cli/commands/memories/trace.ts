/** The commands of `baton trace`: list sessions and show their steps. */
import type { Memory } from "../../../memory/record.ts";
import type { TraceData } from "../../../memory/traces/trace.ts";
import type { TraceInfo } from "../../../memory/traces/traces.ts";
import { AFTER_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { printMore } from "../../render/next-page.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, localTime, oneLine, plural, printJson, printLine } from "../../terminal.ts";

const SESSIONS = 20;
const STEPS = 100;

const list = command({
  name: "trace list",
  summary: "List sessions with a trace, most recently active last",
  args: [],
  options: {
    limit: {
      type: "number",
      value: "<n>",
      help: `maximum number of results (default: ${SESSIONS})`,
    },
    ...AFTER_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options }) {
    const { limit = SESSIONS, after, json } = options;
    await using hub = await openExisting(options);
    const page = await hub.traces.sessions({ limit, ...(after !== undefined && { after }) });
    if (json) printJson(page);
    else if (page.items.length === 0) printLine(dim("No traces."));
    else for (const session of page.items.toReversed()) printSession(session);
    if (!json) printMore(page.next);
    return OK;
  },
});

function printSession({ session, agent, task, steps, pruned, until }: TraceInfo): void {
  const about = task === undefined ? "" : ` on ${task}`;
  const gone = pruned === 0 ? "" : `, ${pruned} pruned`;
  const who = agent === undefined ? "" : `  ${agent}${about}`;
  printLine(
    `${bold(session)}${who}  ${plural(steps, "step")}${gone}${dim(`, ${localTime(until)}`)}`,
  );
}

const show = command({
  name: "trace show",
  summary: "Show the steps of traces, newest last",
  args: [{ name: "session", help: "only steps of this session", optional: true }],
  options: {
    task: { type: "text", value: "<task>", help: "only of this task" },
    agent: { type: "text", value: "<name>", help: "only by this agent (or alias)" },
    tag: { type: "text", value: "<tag>", help: "only with this tag" },
    limit: { type: "number", value: "<n>", help: `maximum number of results (default: ${STEPS})` },
    ...AFTER_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [session], options }) {
    const { store, workspace, json, limit = STEPS, ...filter } = options;
    await using hub = await openExisting({ store, workspace });
    const asked = Object.entries({ ...filter, session, limit });
    const query = asked.filter(([, value]) => value !== undefined);
    const page = await hub.traces.list(Object.fromEntries(query));
    if (json) printJson(page);
    else if (page.items.length === 0) printLine(dim("No matching steps."));
    else for (const step of page.items) printStep(step);
    if (!json) printMore(page.next);
    return OK;
  },
});

function printStep({ agent, task, storedAt, content, data }: Memory): void {
  const about = task === undefined ? "" : ` on ${task}`;
  const { kind, name = "", ok } = data as TraceData;
  const [, ...rest] = content.split("\n");
  const failed = ok === false ? " failed" : "";
  printLine(
    `${bold(`${kind} ${name}`.trim())}${failed}  ${agent}${about}${dim(`, ${localTime(storedAt)}`)}`,
  );
  for (const line of rest) printLine(`      ${oneLine(line, 6)}`);
}

export const trace = [list, show];
