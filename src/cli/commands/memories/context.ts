/** The commands of `baton context`: read, change, propose and adopt items of the shared context. */
import type { Hub } from "../../../hub/hub.ts";
import type { ContextChange } from "../../../shared-context/changes.ts";
import type { ContextInput, ContextItem, ContextSection } from "../../../shared-context/items.ts";
import type { SharedContextText } from "../../../shared-context/read.ts";
import { AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import {
  BASED_ON,
  DECISION_OPTIONS,
  ITEM_ARGS,
  ITEM_OPTIONS,
  itemFrom,
  refuseContent,
  SECTIONS,
  TEXT_ARG,
} from "../../options/context-item-options.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { missingOption } from "../../parse.ts";
import { printMore } from "../../render/next-page.ts";
import { printQuarantineResult } from "../../render/quarantine-result.ts";
import { printSent } from "../../render/sent.ts";
import { openExisting, openStore } from "../../store.ts";
import {
  bad,
  bold,
  dim,
  localTime,
  oneLine,
  plural,
  printable,
  printJson,
  printLine,
} from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";
import { HANDLE, openForWork, WORK_OPTIONS, workAt } from "../../work-by-handle.ts";

const VERBS = [
  "show",
  "set",
  "decide",
  "retire",
  "changes",
  "history",
  "propose",
  "adopt",
  "project",
  "keepers",
] as const;

const DESPITE = {
  despite: {
    type: "texts",
    value: "<key>",
    help: "key of a conflicting decision to accept",
  },
} as const;

const show = command({
  name: "context",
  summary: "Show the shared context: constraints, conventions, decisions and project facts",
  args: [{ name: "verb", help: "subcommand (default: show)", optional: true, choices: VERBS }],
  options: {
    role: {
      type: "text",
      value: "<role>",
      help: "include items for this role (default: only items for all roles)",
    },
    tokens: { type: "number", value: "<n>", help: "token budget (default: 2000)" },
    section: {
      type: "texts",
      value: "<section>",
      help: `only this section: ${SECTIONS.join(", ")}`,
    },
    model: { type: "text", value: "<model>", help: "model that determines how tokens are counted" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options: { role, tokens, section, model, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const sections = section as ContextSection[] | undefined;
    await printContext(hub, omitUndefined({ role, tokens, sections, model }), json);
    return OK;
  },
});

async function printContext(
  hub: Hub,
  query: Parameters<Hub["context"]["text"]>[0],
  json: boolean | undefined,
): Promise<void> {
  const read = await hub.context.text(query);
  if (json) printJson(read);
  else if (read.version === 0)
    printLine(dim(`The shared context of workspace "${hub.workspace}" is empty.`));
  else printContextText(read);
}

function printContextText({ text, tokens, items, omitted }: SharedContextText): void {
  printLine(printable(text).trimEnd());
  const left = omitted.map(({ section, key, why }) => `${section}/${key} (${why})`);
  const not = left.length === 0 ? "" : `; not shown: ${left.join(", ")}`;
  printLine(dim(`${plural(items.length, "item")}, ${plural(tokens, "token")}${not}`));
}

const set = command({
  name: "context set",
  summary: "Create or change an item; requires a keeper role, such as coordinator or memory-keeper",
  args: [...ITEM_ARGS, TEXT_ARG],
  options: {
    ...ITEM_OPTIONS,
    ...BASED_ON,
    ...DESPITE,
    ...AS_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [section = "", key = "", text], options }) {
    return writeItem(itemFrom(section, key, text, options), options);
  },
});

const decide = command({
  name: "context decide",
  summary: "Record a decision with its question, choice, reasons and rejected options",
  args: [
    { name: "key", help: "stable lower-case key of the decision, such as database" },
    { name: "choice", help: "chosen option" },
  ],
  options: {
    ...DECISION_OPTIONS,
    question: { ...DECISION_OPTIONS.question, required: true },
    ...BASED_ON,
    ...DESPITE,
    ...AS_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [key = "", choice = ""], options }) {
    return writeItem(itemFrom("decisions", key, choice, options), options);
  },
});

interface WriteOptions {
  readonly as: string;
  readonly "based-on"?: number | undefined;
  readonly despite?: readonly string[] | undefined;
  readonly json?: boolean | undefined;
  readonly store?: string | undefined;
  readonly workspace?: string | undefined;
}

async function writeItem(item: ContextInput, options: WriteOptions): Promise<number> {
  const { as, despite, json, store, workspace } = options;
  await using hub = await openForWork({ store, workspace });
  const agent = await hub.agent(as, undefined, { lease: "session" });
  const basedOn = options["based-on"];
  const written = await agent.context.set(
    item,
    omitUndefined({ basedOn, despite: despite?.slice() }),
  );
  if (json) printJson(written);
  else printItem(written);
  return OK;
}

const printItem = ({ section, key, version }: ContextItem): void =>
  printLine(`${bold(`${section}/${key}`)}  version ${version}`);

const retire = command({
  name: "context retire",
  summary: "Retire an item of the shared context",
  args: ITEM_ARGS,
  options: {
    reason: { type: "text", value: "<text>", help: "why it is no longer valid", required: true },
    "based-on": { ...BASED_ON["based-on"], required: true },
    ...AS_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [section = "", key = ""], options }) {
    const { as, reason, json, "based-on": basedOn, ...choice } = options;
    await using hub = await openForWork(choice);
    const agent = await hub.agent(as, undefined, { lease: "session" });
    const retired = await agent.context.retire(section as ContextSection, key, { basedOn, reason });
    if (json) printJson(retired);
    else printLine(`${bold(`${section}/${key}`)}  retired, version ${retired.version}`);
    return OK;
  },
});

const changes = command({
  name: "context changes",
  summary: "List changes of the shared context since a version, oldest first",
  args: [],
  options: {
    after: { type: "number", value: "<version>", help: "only changes after this version" },
    limit: { type: "number", value: "<n>", help: "maximum number of results (default: 100)" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options: { after, limit, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const page = await hub.context.changes(omitUndefined({ after, limit }));
    if (json) printJson(page);
    else if (page.items.length === 0) printLine(dim(`No changes after version ${after ?? 0}.`));
    else for (const change of page.items) printChange(change);
    if (!json) printMore(page.next);
    return OK;
  },
});

const history = command({
  name: "context history",
  summary: "List the versions of an item, newest first",
  args: ITEM_ARGS,
  options: {
    limit: { type: "number", value: "<n>", help: "maximum number of results" },
    after: {
      type: "number",
      value: "<version>",
      help: "cursor of the next page, as printed by the previous one",
    },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [section = "", key = ""], options: { limit, after, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const query = omitUndefined({ limit, after });
    const page = await hub.context.history(section as ContextSection, key, query);
    if (json) printJson(page);
    else {
      for (const change of page.items) printChange(change);
      printMore(page.next);
    }
    return OK;
  },
});

function printChange(change: ContextChange): void {
  const { version, section, key, kind, by, at, reason, hidden, despite = [] } = change;
  const what = `${version}  ${bold(`${section}/${key}`)}  ${kind === "set" ? (change.was === undefined ? "new" : "changed") : "retired"}`;
  printLine(`${what}${dim(`, ${by}, ${localTime(at)}`)}`);
  if (hidden !== undefined) printLine(bad(`  (${hidden})`));
  if (change.item !== undefined) printLine(`  ${oneLine(itemText(change.item), 2)}`);
  if (reason !== undefined) printLine(dim(`  ${oneLine(reason, 2)}`));
  if (change.replaced !== undefined) printLine(dim(`  replaces ${change.replaced}`));
  if (despite.length > 0) printLine(dim(`  despite ${despite.join(", ")}`));
}

function itemText(item: NonNullable<ContextChange["item"]>): string {
  switch (item.section) {
    case "project":
      return item.content;
    case "decisions":
      return `${item.question} ${item.choice}`;
    case "constraints":
      return `${item.level}: ${item.rule}`;
    case "conventions":
      return item.rule;
  }
}

const propose = command({
  name: "context propose",
  summary: "Propose a change of the shared context to an agent that may make it",
  args: [...ITEM_ARGS, TEXT_ARG],
  options: {
    reason: { type: "text", value: "<text>", help: "reason for the change", required: true },
    retire: { type: "flag", help: "propose to retire the item" },
    ...ITEM_OPTIONS,
    ...BASED_ON,
    ...AS_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [section = "", key = "", text], options }) {
    const { as, reason, json, store, workspace } = options;
    if (options.retire) refuseContent(text, options);
    const change = options.retire
      ? ({ section: section as ContextSection, key, retire: true } as const)
      : itemFrom(section, key, text, options);
    await using hub = await openForWork({ store, workspace });
    const agent = await hub.agent(as, undefined, { lease: "session" });
    const basedOn = options["based-on"];
    const { sent, contradictions } = await agent.context.propose(
      change,
      omitUndefined({ reason, basedOn }) as { reason: string; basedOn?: number },
    );
    await printSent(sent, json, { contradictions });
    if (json) return OK;
    for (const { key: other, choice, by, why } of contradictions) {
      printLine(bad(`  ${oneLine(`conflicts with ${other} ("${choice}", by ${by}): ${why}`, 2)}`));
    }
    return OK;
  },
});

const adopt = command({
  name: "context adopt",
  summary: "Apply the change that accepted work proposes, and complete the work",
  args: [HANDLE],
  options: { ...DESPITE, ...WORK_OPTIONS },

  async run({ args: [handle = ""], options: { despite, json, ...choice } }) {
    await using hub = await openForWork(choice);
    const work = await workAt(hub, handle, { as: choice.as });
    const holder = choice.as ?? (await hub.deliveries.holder(handle));
    const agent = await hub.agent(holder, undefined, { lease: "session" });
    const adopted = await agent.context.adopt(work, omitUndefined({ despite: despite?.slice() }));
    if (json) printJson(adopted);
    else if (adopted.kind === "adopted")
      printLine(`${bold("adopted")}  version ${adopted.version}`);
    else if (adopted.kind === "quarantined")
      printQuarantineResult(adopted.quarantine, "quarantined");
    else if (adopted.kind === "stale") {
      printLine(`${bold("declined")}  ${oneLine(adopted.conflict.message, 10)}`);
    } else
      printLine("The proposer changed the proposal. Read it again, then run this command again.");
    return OK;
  },
});

const project = command({
  name: "context project",
  summary: "Show the project facts; --from-git updates them first",
  args: [{ name: "folder", help: "repository (default: the current folder)", optional: true }],
  options: {
    "from-git": { type: "flag", help: "store the branch, files and changes reported by git" },
    as: { type: "text", value: "<agent>", help: "agent that writes; required with --from-git" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [folder], options: { as, json, "from-git": fromGit, ...choice } }) {
    if (!fromGit) {
      if (folder !== undefined) {
        throw usageError(
          folder,
          "<folder> requires --from-git.",
          "Write baton context project --from-git <folder>.",
        );
      }
      await using hub = await openExisting(choice);
      await printContext(hub, { sections: ["project"] }, json);
      return OK;
    }
    if (as === undefined) throw missingOption(project, "as");
    await using hub = await openForWork(choice);
    const agent = await hub.agent(as, undefined, { lease: "session" });
    const written = await agent.context.project(folder ?? ".");
    if (json) printJson(written);
    else if (written.length === 0) printLine(dim("No changes."));
    else for (const item of written) printItem(item);
    return OK;
  },
});

const keepers = command({
  name: "context keepers",
  summary: "Show or set the roles that may change the shared context",
  args: [
    { name: "role", help: "role; the first one gets proposals first", optional: true, many: true },
  ],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args, options }) {
    await using hub = await openStore(options, { create: args.length > 0 });
    const roles = (
      await (args.length === 0 ? hub.settings.get() : hub.settings.update({ keepers: [...args] }))
    ).keepers;
    if (options.json) printJson(roles);
    else for (const role of roles) printLine(role);
    return OK;
  },
});

export const context = [
  show,
  set,
  decide,
  retire,
  changes,
  history,
  propose,
  adopt,
  project,
  keepers,
];
