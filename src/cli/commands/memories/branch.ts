import type { BranchInfo } from "../../../memory/branches/branches.ts";
import type { BranchDiff, Conflict } from "../../../memory/branches/compare.ts";
import { AFTER_OPTION, AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printMore } from "../../render/next-page.ts";
import { openExisting } from "../../store.ts";
import { bad, bold, dim, oneLine, plural, printJson, printLine, table } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

const BRANCH = { name: "branch", help: "the branch's name: run-42/planner" } as const;
const DEFAULT_LIMIT = 100;
/** What a merge that found conflicts exits with: data that does not fit. */
const EXIT_CONFLICTS = 65;

const list = command({
  name: "branch list",
  summary: "branches, with what they began from and how they ended",
  args: [],
  options: {
    state: {
      type: "text",
      value: "<state>",
      help: "only these",
      choices: ["open", "merged", "abandoned"],
    },
    prefix: { type: "text", value: "<name>", help: "only names that begin so: run-42/" },
    limit: { type: "number", value: "<n>", help: `how many; else ${DEFAULT_LIMIT}` },
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
  summary: "begins a branch where its base stands now",
  args: [BRANCH],
  options: {
    ...AS_OPTION,
    from: { type: "text", value: "<branch>", help: "its base; else main" },
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
  summary: "what was written on a branch, and what stands in the way of merging it",
  args: [BRANCH],
  options: {
    as: { type: "text", value: "<name>", help: "as this agent: also sees what is private to it" },
    limit: { type: "number", value: "<n>", help: "how many of its records, the newest; else 100" },
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
  if (records.length < count) printLine(dim(`The newest ${records.length}:`));
  for (const { id, type, agent, content } of records) {
    printLine(`  ${bold(type)}  ${agent}${dim(`, ${id}`)}`);
    printLine(`      ${oneLine(content, 6)}`);
  }
  for (const { kind, by, of } of replacements) printLine(`  ${by} ${kind} ${of}`);
  printConflicts(conflicts);
  printHidden(hidden);
}

function printHidden(hidden: number): void {
  if (hidden > 0) printLine(bad(`${plural(hidden, "conflict")} of private records`));
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
  summary: "merges a branch into its base; with conflicts that are not resolved, nothing changes",
  args: [BRANCH],
  options: {
    ...AS_OPTION,
    keep: {
      type: "texts",
      value: "<memory>=<memory>",
      help: "of a conflict: the record to keep = the one it supersedes",
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
      printLine(`${bold(merged.branch)} is part of ${merged.into}${dim(`  ${merged.memory.id}`)}`);
    } else {
      printLine(`Nothing was changed: ${bold(merged.branch)} is in conflict.`);
      printConflicts(merged.conflicts);
      printHidden(merged.hidden);
      if (merged.hint !== undefined) printLine(dim(merged.hint));
      if (merged.conflicts.length > 0) {
        printLine(dim("Say which record holds: --keep <memory>=<the other>, for each."));
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
    `--keep is "${text}".`,
    "Write the record to keep, =, and the one it supersedes: --keep mem_…=mem_…",
  );
}

const abandon = command({
  name: "branch abandon",
  summary: "gives a branch up: its base never sees anything of it",
  args: [BRANCH],
  options: {
    ...AS_OPTION,
    reason: { type: "text", value: "<text>", help: "why", required: true },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options: { as, reason, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const agent = await hub.agent(as);
    const memory = await agent.branches.abandon(name, reason);
    if (json) printJson(memory);
    else printLine(`${bold(name)} is abandoned${dim(`  ${memory.id}`)}`);
    return OK;
  },
});

export const branch = [list, create, diff, merge, abandon];
