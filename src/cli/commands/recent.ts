import type { Memory } from "../../memory/record.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../command.ts";
import { OK } from "../exit.ts";
import { openExisting } from "../store.ts";
import { bold, dim, localTime, oneLine, say, sayJson } from "../terminal.ts";

const DEFAULT_LIMIT = 20;
const LAST_COLUMN = 4;

export const recent = command({
  name: "recent",
  summary: "the newest memories, of a task, agent, session, tag or type",
  args: [],
  options: {
    task: { type: "text", value: "<task>", help: "only of this task" },
    agent: { type: "text", value: "<name>", help: "only by this agent (or alias)" },
    type: { type: "text", value: "<type>", help: "only of this type: plan, decision, handoff, …" },
    tag: { type: "text", value: "<tag>", help: "only with this tag" },
    session: { type: "text", value: "<name>", help: "only of this session" },
    limit: { type: "number", value: "<n>", help: `how many; else ${DEFAULT_LIMIT}` },
    before: { type: "number", value: "<seq>", help: "only older than this number: the next page" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options }) {
    const { store, workspace, json, limit = DEFAULT_LIMIT, ...filter } = options;
    await using hub = await openExisting({ store, workspace });
    const query = Object.entries({ ...filter, limit }).filter(([, value]) => value !== undefined);
    const memories = await hub.recent(Object.fromEntries(query));
    if (json) sayJson(memories);
    else sayMemories(memories, limit);
    return OK;
  },
});

/** Oldest first: the newest stands where the eye is, at the end. */
function sayMemories(memories: readonly Memory[], limit: number): void {
  if (memories.length === 0) say(dim("Nothing remembered that fits."));
  for (const { seq, type, agent, task, storedAt, content } of memories.toReversed()) {
    const about = task === undefined ? "" : ` on ${task}`;
    say(
      `${dim(`${seq}`.padStart(LAST_COLUMN))}  ${bold(type)}  ${agent}${about}${dim(`, ${localTime(storedAt)}`)}`,
    );
    say(`      ${oneLine(content, 6)}`);
  }
  const oldest = memories.at(-1)?.seq ?? 0;
  if (memories.length === limit && oldest > 1) say(dim(`Older ones: --before ${oldest}`));
}
