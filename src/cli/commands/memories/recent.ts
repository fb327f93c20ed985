/** The command `baton recent`: list the newest memories of a task, agent, session, tag or type. */
import type { RecentMemory } from "../../../memory/read.ts";
import { AFTER_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { momentOf, READER_OPTIONS, readerOf } from "../../reader.ts";
import { printMore } from "../../render/next-page.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, localTime, oneLine, printJson, printLine } from "../../terminal.ts";

const DEFAULT_LIMIT = 20;
const LAST_COLUMN = 4;

export const recent = command({
  name: "recent",
  summary: "List the newest memories of a task, agent, session, tag or type",
  args: [],
  options: {
    task: { type: "text", value: "<task>", help: "only of this task" },
    agent: { type: "text", value: "<name>", help: "only by this agent (or alias)" },
    type: { type: "text", value: "<type>", help: "only of this type: plan, decision, handoff, …" },
    tag: { type: "text", value: "<tag>", help: "only with this tag" },
    session: { type: "text", value: "<name>", help: "only of this session" },
    limit: {
      type: "number",
      value: "<n>",
      help: `maximum number of results (default: ${DEFAULT_LIMIT})`,
    },
    ...AFTER_OPTION,
    ...READER_OPTIONS,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options }) {
    const { store, workspace, json, limit = DEFAULT_LIMIT, as, branch, ...rest } = options;
    const { "as-of": asOf, ...filter } = rest;
    await using hub = await openExisting({ store, workspace });
    const reader = await readerOf(hub, as, branch);
    const page = await reader.memories.recent({
      ...omitUndefined({ ...filter, asOf: momentOf(asOf) }),
      limit,
    });
    if (json) printJson(page);
    else {
      printMemories(page.items);
      printMore(page.next);
    }
    return OK;
  },
});

/** Prints oldest first, so that the newest memory is next to the prompt. */
function printMemories(memories: readonly RecentMemory[]): void {
  if (memories.length === 0) printLine(dim("No matching memories."));
  for (const memory of memories.toReversed()) {
    const { id, seq, type, agent, task, storedAt, content, redacted, superseded } = memory;
    const about = task === undefined ? "" : ` on ${task}`;
    printLine(
      `${dim(`${seq}`.padStart(LAST_COLUMN))}  ${bold(type)}  ${agent}${about}${dim(`, ${localTime(storedAt)}, ${id}`)}`,
    );
    const note = redacted && `(redacted by ${redacted.by}: ${redacted.reason})`;
    printLine(`      ${oneLine(note ?? content, 6)}`);
    if (superseded !== undefined)
      printLine(dim(`      superseded${superseded.by ? ` by ${superseded.by}` : ""}`));
  }
}
