/** The commands of `baton failure`: list, show and decide failures, and manage the rules that decide them. */
import { nearestNames } from "../../../base/nearest-names.ts";
import type { DecideResult, Decision } from "../../../coordination/failures/decision.ts";
import type { ListedFailure } from "../../../coordination/failures/list.ts";
import type { FailureRule, FailureRuleInfo } from "../../../coordination/failures/rules.ts";
import {
  AFTER_OPTION,
  AS_OPTION,
  command,
  DELIVERY,
  JSON_OPTION,
  STORE_OPTIONS,
} from "../../command.ts";
import { OK } from "../../exit.ts";
import { CONTENT_OPTIONS, contentOf } from "../../options/draft.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printField } from "../../render/envelope.ts";
import { printMore } from "../../render/next-page.ts";
import { openExisting, openStore, openUpToDate } from "../../store.ts";
import {
  bad,
  bold,
  dim,
  duration,
  localTime,
  oneLine,
  plural,
  printJson,
  printLine,
  table,
} from "../../terminal.ts";
import { didYouMean, usageError } from "../../usage-error.ts";
import { openForWork } from "../../work-by-handle.ts";

const DEFAULT_LIMIT = 20;
const DECISIONS = ["retry", "reroute", "ask", "abort"] as const;
const { next, state, payload, "payload-type": payloadType } = CONTENT_OPTIONS;

const list = command({
  name: "failure",
  summary: "List failures with their hints: undecided ones first, then decided ones",
  args: [
    {
      name: "verb",
      help: "subcommand (default: list)",
      optional: true,
      choices: ["list", "show", "decide", "rule"],
    },
  ],
  options: {
    task: { type: "text", value: "<task>", help: "only of this task" },
    undecided: { type: "flag", help: "only failures that wait for a decision" },
    limit: {
      type: "number",
      value: "<n>",
      help: `maximum number of results (default: ${DEFAULT_LIMIT})`,
    },
    ...AFTER_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options: { task, undecided, limit = DEFAULT_LIMIT, after, json, ...choice } }) {
    await using hub = await openUpToDate(choice);
    const page = await hub.failures.list({ limit, ...omitUndefined({ task, undecided, after }) });
    if (json) printJson(page);
    else if (page.items.length === 0) printLine(dim("No matching failures."));
    else for (const failure of page.items) printFailure(failure);
    if (!json) printMore(page.next);
    return OK;
  },
});

function printFailure(listed: ListedFailure): void {
  const { task, delivery, failure, asked, advice, decision, report } = listed;
  const by = failure.by === undefined ? "" : ` by ${failure.by}`;
  const mark = decision === undefined ? bad(failure.type) : failure.type;
  const retries = plural(failure.retries, "retry");
  printLine(
    `${bold(oneLine(task))}  ${mark} (${failure.class})${by}, ${retries}  ${dim(delivery)}`,
  );
  printField("message", [failure.message]);
  printField("hint", failure.hints);
  printField("attempted", failure.attempted === undefined ? [] : [failure.attempted]);
  printField("earlier", listed.before.map(decidedLine));
  if (decision !== undefined) {
    printField("decided", [decidedLine(decision)]);
    return;
  }
  const since = localTime(listed.reportedAt);
  printField(
    "assigned to",
    listed.with === undefined ? [] : [`${listed.with} since ${since} (${report})`],
  );
  printField("asked", asked.length === 0 ? [] : [asked.join(", ")]);
  printField("advice", advice === undefined ? [] : [adviceLine(advice)]);
}

const decidedLine = (decision: NonNullable<ListedFailure["decision"]>): string => {
  const { decision: what, to, by, at, reason } = decision;
  return `${what}${to === undefined ? "" : ` to ${to}`}, by ${by}, ${localTime(at)}: ${reason}`;
};

function adviceLine({ source, decision }: NonNullable<ListedFailure["advice"]>): string {
  const to = decision.to === undefined ? "" : ` ${decision.to}`;
  return `${decision.decision}${to}, by ${source}: ${decision.reason}`;
}

const show = command({
  name: "failure show",
  summary: "Show a failure: message, hints, who decides and the suggested decision",
  args: [{ name: "delivery", help: "id of the failed delivery or of its report (dlv_…)" }],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [id = ""], options }) {
    await using hub = await openUpToDate(options);
    const failure = await hub.failures.get(id);
    if (options.json) printJson(failure);
    else printFailure(failure);
    return OK;
  },
});

const decide = command({
  name: "failure decide",
  summary: "Decide a failure; the first decision counts",
  args: [DELIVERY, { name: "decision", help: DECISIONS.join(", "), choices: DECISIONS }],
  options: {
    ...AS_OPTION,
    reason: { type: "text", value: "<text>", help: "reason", required: true },
    to: { type: "text", value: "<name>", help: "new receiver (reroute), or agent to ask (ask)" },
    delay: { type: "duration", value: "<time>", help: "delay before the retry: 30s, 5m" },
    next,
    state,
    payload,
    "payload-type": payloadType,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [id = "", what = ""], options }) {
    const { as, reason, to, delay: delayMs, json, store, workspace } = options;
    await using hub = await openForWork({ store, workspace });
    const agent = await hub.agent(as, undefined, { lease: "session" });
    const content = contentOf(options);
    const fields = omitUndefined({
      next: content.next,
      state: content.state,
      payload: content.payload,
    });
    const changes = Object.keys(fields).length === 0 ? undefined : fields;
    const decision = {
      decision: what,
      reason,
      ...omitUndefined({ to, delayMs, changes }),
    } as Decision;
    const answer = await agent.failures.decide(id, decision);
    if (json) printJson(answer);
    else printLine(answerLine(answer));
    return OK;
  },
});

function answerLine(answer: DecideResult): string {
  switch (answer.kind) {
    case "decided":
      return `${bold(answer.decision)}  ${answer.delivery.id} is ${answer.delivery.state}`;
    case "already":
      return `${bold("already decided")}  ${decidedLine(answer)}`;
    case "asked":
      return `${bold("asked")}  ${answer.who} decides (${answer.report})`;
    case "settled":
      return `${bold("nothing to decide")}  ${answer.delivery.id} is ${answer.delivery.state}`;
  }
}

const rule = command({
  name: "failure rule",
  summary: "List failure rules, or set or delete one",
  args: [{ name: "name", help: "rule name; default: list all rules", optional: true }],
  options: {
    type: { type: "text", value: "<type>", help: "only failures of this type: timeout, silent, …" },
    class: {
      type: "text",
      value: "<class>",
      help: "retryable or permanent",
      choices: ["retryable", "permanent"],
    },
    task: { type: "text", value: "<task>", help: "only failures of this task; * matches any text" },
    receiver: {
      type: "text",
      value: "<name>",
      help: "only failures of this receiver (agent or role:…)",
    },
    role: { type: "text", value: "<role>", help: "only failures of this role" },
    decided: {
      type: "number",
      value: "<n>",
      help: "only after at most this many decisions; 0: the first failure",
    },
    retry: { type: "flag", help: "action: retry" },
    delay: { type: "duration", value: "<time>", help: "with --retry: delay before the retry" },
    reroute: {
      type: "text",
      value: "<name>",
      help: "action: reroute to this agent or role:<role>",
    },
    ask: { type: "text", value: "<agent>", help: "action: ask this agent to decide" },
    abort: { type: "flag", help: "action: abort the task" },
    reason: { type: "text", value: "<text>", help: "reason, stored with the decision" },
    drop: { type: "flag", help: "delete the rule" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name], options }) {
    const { type, class: kind, task, receiver, role, decided, json, store, workspace } = options;
    if (name === undefined) return printRules({ store, workspace }, json);
    const when = omitUndefined({ type, class: kind, task, receiver, role, decided });
    if (options.drop) {
      if (Object.keys(when).length > 0 || listRuleActions(options).length > 0) throw onlyDrop();
      return dropRule(name, { store, workspace }, json);
    }
    const made = {
      when,
      ...omitUndefined({ reason: options.reason }),
      then: ruleActionOf(options),
    };
    await using hub = await openStore({ store, workspace });
    await hub.failures.setRule(name, made as FailureRule);
    if (json) printJson({ name, ...made });
    else printLine(table([rowOf({ name, ...made } as FailureRuleInfo)]).join("\n"));
    return OK;
  },
});

interface RuleActionOptions {
  readonly retry?: boolean | undefined;
  readonly delay?: number | undefined;
  readonly reroute?: string | undefined;
  readonly ask?: string | undefined;
  readonly abort?: boolean | undefined;
}

const listRuleActions = ({
  retry,
  delay,
  reroute,
  ask,
  abort,
}: RuleActionOptions): FailureRule["then"][] => [
  ...(retry ? [{ retry: omitUndefined({ delayMs: delay }) }] : []),
  ...(reroute === undefined ? [] : [{ reroute }]),
  ...(ask === undefined ? [] : [{ ask }]),
  ...(abort ? [{ abort: true as const }] : []),
];

const onlyDrop = () =>
  usageError(
    "--drop",
    "--drop deletes the rule and cannot be combined with conditions or actions.",
    "Pass --drop alone; to change a rule, pass all of its options without --drop.",
  );

function ruleActionOf(options: RuleActionOptions): FailureRule["then"] {
  if (options.delay !== undefined && !options.retry) {
    throw usageError("--delay", "--delay requires --retry.", "Add --retry, or omit --delay.");
  }
  const [then, ...more] = listRuleActions(options);
  if (then !== undefined && more.length === 0) return then;
  throw usageError(
    "--retry",
    then === undefined ? "The rule has no action." : "The rule has more than one action.",
    "Pass exactly one of --retry, --reroute <name>, --ask <agent>, --abort.",
  );
}

interface Choice {
  readonly store?: string | undefined;
  readonly workspace?: string | undefined;
}

async function printRules(choice: Choice, json: boolean | undefined): Promise<number> {
  await using hub = await openExisting(choice);
  const rules = await hub.failures.rules();
  if (json) printJson(rules);
  else if (rules.length === 0) printLine(dim("No rules. The hub decides by its defaults."));
  else for (const row of table(rules.map(rowOf))) printLine(row);
  return OK;
}

function rowOf({ name, when, then, reason }: FailureRuleInfo): string[] {
  const words = Object.entries(when).map(([field, value]) => `${field} ${value}`);
  const [what, how] = Object.entries(then)[0] ?? ["", ""];
  const delay = "retry" in then ? then.retry.delayMs : undefined;
  const pause = delay === undefined ? "" : ` after ${duration(delay)}`;
  const to = typeof how === "string" ? ` ${how}` : pause;
  const conditions = words.length === 0 ? "always" : `when ${words.join(" and ")}`;
  return [
    name,
    `→ ${what}${to}`,
    `${conditions}${reason === undefined ? "" : `: ${oneLine(reason)}`}`,
  ];
}

async function dropRule(name: string, choice: Choice, json: boolean | undefined): Promise<number> {
  await using hub = await openExisting(choice);
  const known = (await hub.failures.rules()).map((each) => each.name);
  if (!known.includes(name)) {
    throw usageError(
      "name",
      `Unknown rule "${name}".`,
      didYouMean(nearestNames(name, known)) ?? "List the rules: baton failure rule.",
    );
  }
  await hub.failures.deleteRule(name);
  if (json) printJson({ name });
  else printLine(`Deleted the rule ${bold(name)}`);
  return OK;
}

export const failure = [list, show, decide, rule];
