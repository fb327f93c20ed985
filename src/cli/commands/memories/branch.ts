/** The commands of `baton branch`: list, create, diff, merge and abandon branches. */
import type { BranchInfo } from "../../../memory/branches/branches.ts";
import type { BranchDiff, Conflict } from "../../../memory/branches/compare.ts";
import { AFTER_OPTION, AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printMore } from "../../render/next-page.ts";
import { openExisting } from "../../store.ts";
import { bad, bold, dim, oneLine, plural, printJson, printLine, table } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

const BRANCH = { name: "branch", help: "branch name, such as run-42/planner" } as const;
const DEFAULT_LIMIT = 100;
/** Exit code of a merge with conflicts: EX_DATAERR of sysexits. */
const EXIT_CONFLICTS = 65;

const list = command({
  name: "branch list",
  summary: "List branches with their base and state",
  args: [],
  options: {
    state: {
      type: "text",
      value: "<state>",
      help: "only branches in this state",
      choices: ["open", "merged", "abandoned"],
    },
    prefix: { type: "text", value: "<name>", help: "only names with this prefix: run-42/" },
    limit: {
      type: "number",
      value: "<n>",
      help: `maximum number of results (default: ${DEFAULT_LIMIT})`,
    },
    ...AFTER_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options: { json, store, workspace, limit = DEFAULT_LIMIT, ...query } }) {
    await using hub = await openExisting({ store, workspace });
    const page = await hub.branches.list({ ...omitUndefined(query), limit } as object);
    if (json) printJson(page);
    else if (page.items.length === 0) printLine(dim("No matching branches."));
    else for (const row of table(page.items.map(rowOf))) printLine(row);
    if (!json) printMore(page.next);
    return OK;
  },
});

const rowOf = ({ name, state, base, fork, by }: BranchInfo): string[] => [
  name,
  state,
  `from ${base} at ${fork.seq}, by ${by}`,
];

const create = command({
  name: "branch create",
  summary: "Create a branch from the current end of its base",
  args: [BRANCH],
  options: {
    ...AS_OPTION,
    from: { type: "text", value: "<branch>", help: "base branch (default: main)" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options: { as, from, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const agent = await hub.agent(as);
    const { branch } = await agent.branches.create(name, omitUndefined({ from }));
    const { base } = await hub.branches.diff(branch, { limit: 1 });
    if (json) printJson({ name: branch, base, by: agent.id });
    else printLine(`${bold(branch)}  from ${base}`);
    return OK;
  },
});

const diff = command({
  name: "branch diff",
  summary: "Show the records of a branch and its merge conflicts",
  args: [BRANCH],
  options: {
    as: { type: "text", value: "<name>", help: "agent to read as; includes its private memories" },
    limit: {
      type: "number",
      value: "<n>",
      help: "number of newest records to show (default: 100)",
    },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options: { as, limit, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const reader = as === undefined ? hub : await hub.agent(as);
    const found = await reader.branches.diff(name, omitUndefined({ limit }));
    if (json) printJson(found);
    else printDiff(found);
    return OK;
  },
});

function printDiff(found: BranchDiff): void {
  const { name, state, into, count, records, replacements, conflicts, hidden } = found;
  printLine(`${bold(name)}  ${state}, ${plural(count, "record")} over ${into}`);
  if (records.length < count) printLine(dim(`Newest ${records.length}:`));
  for (const { id, type, agent, content } of records) {
    printLine(`  ${bold(type)}  ${agent}${dim(`, ${id}`)}`);
    printLine(`      ${oneLine(content, 6)}`);
  }
  for (const { kind, by, of } of replacements) printLine(`  ${by} ${kind} ${of}`);
  printConflicts(conflicts);
  printHidden(hidden);
}

function printHidden(hidden: number): void {
  if (hidden > 0) printLine(bad(`${plural(hidden, "conflict")} between private records`));
}

const CONFLICT_TEXTS: Readonly<Record<Conflict["kind"], string>> = {
  both_replaced: "both sides replaced it",
  base_replaced: "the base replaced it, the branch built on it",
  branch_replaced: "the branch replaced it, the base built on it",
};

function printConflicts(conflicts: readonly Conflict[]): void {
  if (conflicts.length === 0) return;
  printLine(bad(plural(conflicts.length, "conflict")));
  for (const { kind, about, branch, base } of conflicts) {
    printLine(`  ${about}: ${CONFLICT_TEXTS[kind]}`);
    printLine(`      branch ${branch}`);
    printLine(`      base   ${base}`);
  }
}

const merge = command({
  name: "branch merge",
  summary: "Merge a branch into its base; unresolved conflicts leave both unchanged",
  args: [BRANCH],
  options: {
    ...AS_OPTION,
    keep: {
      type: "texts",
      value: "<memory>=<memory>",
      help: "conflict resolution: record to keep = record it supersedes",
    },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options: { as, keep = [], json, ...choice } }) {
    const resolve = keep.map(resolutionOf);
    await using hub = await openExisting(choice);
    const agent = await hub.agent(as);
    const merged = await agent.branches.merge(name, { resolve });
    if (json) printJson(merged);
    else if (merged.kind === "merged") {
      printLine(`Merged ${bold(merged.branch)} into ${merged.into}${dim(`  ${merged.memory.id}`)}`);
    } else {
      printLine(`Not merged: ${bold(merged.branch)} has conflicts. No record was changed.`);
      printConflicts(merged.conflicts);
      printHidden(merged.hidden);
      if (merged.hint !== undefined) printLine(dim(merged.hint));
      if (merged.conflicts.length > 0) {
        printLine(
          dim("Choose the record to keep for each conflict: --keep <memory>=<other memory>"),
        );
      }
    }
    return merged.kind === "merged" ? OK : EXIT_CONFLICTS;
  },
});

function resolutionOf(text: string): { readonly keep: string; readonly over: string } {
  const [keep = "", over = ""] = text.split("=");
  if (keep !== "" && over !== "") return { keep, over };
  throw usageError(
    "--keep",
    `Invalid --keep "${text}": expected two memory ids.`,
    "Write the record to keep and the one it supersedes: --keep mem_…=mem_…",
  );
}

const abandon = command({
  name: "branch abandon",
  summary: "Abandon a branch; its records never reach its base",
  args: [BRANCH],
  options: {
    ...AS_OPTION,
    reason: { type: "text", value: "<text>", help: "reason", required: true },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options: { as, reason, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const agent = await hub.agent(as);
    const memory = await agent.branches.abandon(name, reason);
    if (json) printJson(memory);
    else printLine(`Abandoned ${bold(name)}${dim(`  ${memory.id}`)}`);
    return OK;
  },
});

export const branch = [list, create, diff, merge, abandon];
