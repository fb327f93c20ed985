import type { BranchInfo } from "../../../memory/branches/branches.ts";
import type { BranchDiff, Conflict } from "../../../memory/branches/compare.ts";
import { AFTER_OPTION, AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { mistake } from "../../mistake.ts";
import { given } from "../../options/given.ts";
import { sayMore } from "../../render/more.ts";
import { openExisting } from "../../store.ts";
import { bad, bold, dim, oneLine, plural, say, sayJson, table } from "../../terminal.ts";

const BRANCH = { name: "branch", help: "the branch's name: run-42/planner" } as const;
const DEFAULT_LIMIT = 100;
/** What a merge that found conflicts exits with: data that does not fit. */
const CONFLICTS = 65;

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
    const page = await hub.branches.list({ ...given(query), limit } as object);
    if (json) sayJson(page);
    else if (page.items.length === 0) say(dim("No matching branches."));
    else for (const row of table(page.items.map(rowOf))) say(row);
    if (!json) sayMore(page.next);
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
    const { branch } = await agent.branches.create(name, given({ from }));
    const { base } = await hub.branches.diff(branch, { limit: 1 });
    if (json) sayJson({ name: branch, base, by: agent.id });
    else say(`${bold(branch)}  from ${base}`);
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
    const found = await reader.branches.diff(name, given({ limit }));
    if (json) sayJson(found);
    else sayDiff(found);
    return OK;
  },
});

function sayDiff(found: BranchDiff): void {
  const { name, state, into, count, records, replacements, conflicts, hidden } = found;
  say(`${bold(name)}  ${state}, ${plural(count, "record")} over ${into}`);
  if (records.length < count) say(dim(`The newest ${records.length}:`));
  for (const { id, type, agent, content } of records) {
    say(`  ${bold(type)}  ${agent}${dim(`, ${id}`)}`);
    say(`      ${oneLine(content, 6)}`);
  }
  for (const { kind, by, of } of replacements) say(`  ${by} ${kind} ${of}`);
  sayConflicts(conflicts);
  sayHidden(hidden);
}

function sayHidden(hidden: number): void {
  if (hidden > 0) say(bad(`${plural(hidden, "conflict")} of private records`));
}

const SAID: Readonly<Record<Conflict["kind"], string>> = {
  both_replaced: "both sides replaced it",
  base_replaced: "the base replaced it, the branch built on it",
  branch_replaced: "the branch replaced it, the base built on it",
};

function sayConflicts(conflicts: readonly Conflict[]): void {
  if (conflicts.length === 0) return;
  say(bad(plural(conflicts.length, "conflict")));
  for (const { kind, about, branch, base } of conflicts) {
    say(`  ${about}: ${SAID[kind]}`);
    say(`      branch ${branch}`);
    say(`      base   ${base}`);
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
    if (json) sayJson(merged);
    else if (merged.kind === "merged") {
      say(`${bold(merged.branch)} is part of ${merged.into}${dim(`  ${merged.memory.id}`)}`);
    } else {
      say(`Nothing was changed: ${bold(merged.branch)} is in conflict.`);
      sayConflicts(merged.conflicts);
      sayHidden(merged.hidden);
      if (merged.hint !== undefined) say(dim(merged.hint));
      if (merged.conflicts.length > 0) {
        say(dim("Say which record holds: --keep <memory>=<the other>, for each."));
      }
    }
    return merged.kind === "merged" ? OK : CONFLICTS;
  },
});

function resolutionOf(text: string): { readonly keep: string; readonly over: string } {
  const [keep = "", over = ""] = text.split("=");
  if (keep !== "" && over !== "") return { keep, over };
  throw mistake(
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
    if (json) sayJson(memory);
    else say(`${bold(name)} is abandoned${dim(`  ${memory.id}`)}`);
    return OK;
  },
});

export const branch = [list, create, diff, merge, abandon];
