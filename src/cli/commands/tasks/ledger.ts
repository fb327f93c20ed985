/** The commands of `baton ledger`: show a ledger, release items, and set who may release them. */
import type {
  Ledger,
  LedgerConstraint,
  LedgerDecision,
  LedgerProgress,
  LedgerRelease,
} from "../../../ledger/ledger.ts";
import { AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { printField } from "../../render/envelope.ts";
import { unknownTaskMessage } from "../../render/unknown-task.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, localTime, oneLine, printJson, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";
import { openForWork } from "../../work-by-handle.ts";

const TASK = { name: "task", help: "task name" } as const;

const show = command({
  name: "ledger",
  summary: "Show the ledger of a task: intent, constraints, decisions, progress and releases",
  args: [TASK],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [task = ""], options }) {
    await using hub = await openExisting(options);
    const ledger = await hub.tasks.ledger(task);
    if (options.json) printJson(ledger ?? null);
    else if (ledger === undefined) printLine(dim(await unknownTaskMessage(hub, task)));
    else printLedger(ledger);
    return OK;
  },
});

const release = command({
  name: "ledger release",
  summary: "Release a constraint, a decision or progress from a task's ledger",
  args: [TASK, { name: "id", help: "id of the item, as printed by baton ledger" }],
  options: {
    reason: { type: "text", value: "<text>", help: "why it no longer applies", required: true },
    decided: { type: "text", value: "<text>", help: "decisions: the chosen option" },
    ...AS_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [task = "", id = ""], options: { as, reason, decided, json, ...choice } }) {
    await using hub = await openForWork(choice);
    const agent = await hub.agent(as, undefined, { lease: "session" });
    const ledger = await agent.tasks.releaseItem(task, { id, reason, decided });
    if (json) printJson(ledger);
    else printLedger(ledger);
    return OK;
  },
});

const releasers = command({
  name: "ledger releasers",
  summary: "Show or set the roles that may release items of others and close tasks",
  args: [
    {
      name: "role",
      help: "new list of roles; default: show the current ones",
      optional: true,
      many: true,
    },
  ],
  options: {
    none: { type: "flag", help: "allow only the author of an item to release it" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args, options: { none, json, ...choice } }) {
    if (none && args.length > 0) {
      throw usageError("--none", "--none cannot be combined with roles.", "Pass roles or --none.");
    }
    await using hub = await openExisting(choice);
    const roles = (
      await (none || args.length > 0
        ? hub.settings.update({ releasers: [...args] })
        : hub.settings.get())
    ).releasers;
    if (json) printJson(roles);
    else if (roles.length === 0) printLine(dim("Only the author of an item may release it."));
    else for (const role of roles) printLine(role);
    return OK;
  },
});

function printLedger(ledger: Ledger): void {
  const { task, begun, brief, origins, from, constraints, decisions, progress, released } = ledger;
  const reported = (kind: LedgerProgress["kind"]): string[] =>
    progress.filter((each) => each.kind === kind).map(progressLine);
  printLine(`${bold(oneLine(task))}${dim(`, begun by ${begun.by}, ${localTime(begun.at)}`)}`);
  printField("intent", [ledger.intent]);
  printField("brief", brief === undefined ? [] : [brief]);
  printField("inherits", from);
  printField(
    "origin",
    origins.map(({ intent }) => intent),
  );
  printField("must", constraints.map(constraintLine));
  printField("undecided", decisions.map(decisionLine));
  printField("blocked", reported("blocked"));
  printField("do not redo", reported("doNotRedo"));
  printField("done", reported("done"));
  printField("released", released.map(releaseLine));
}

const since = ({ by, at }: { readonly by: string; readonly at: number }): string =>
  `(${by}, ${localTime(at)})`;

const constraintLine = ({ id, rule, ...provenance }: LedgerConstraint): string =>
  `${id}: ${rule} ${since(provenance)}`;

const progressLine = ({ id, text, on, ...said }: LedgerProgress): string =>
  `${id}: ${text}${on === undefined ? "" : `, on ${on}`} ${since(said)}`;

function decisionLine({ id, question, options, owner, ...said }: LedgerDecision): string {
  const choices = options.length === 0 ? "" : ` ${options.join(" | ")}`;
  return `${id}: ${question}${choices}${owner === undefined ? "" : `, for ${owner}`} ${since(said)}`;
}

function releaseLine({ id, said, decided, reason, ...by }: LedgerRelease): string {
  const outcome = decided === undefined ? "" : ` → ${decided}`;
  return `${id}: ${said}${outcome}; ${reason} ${since(by)}`;
}

export const ledger = [show, release, releasers];
