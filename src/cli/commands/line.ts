import type { LineStep } from "../../delivery/line.ts";
import type { Hub } from "../../hub.ts";
import { nearestNames } from "../../nearest.ts";
import type { AttemptRow, DeliveryRow } from "../../store/rows.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../command.ts";
import { OK } from "../exit.ts";
import { openExisting } from "../store.ts";
import { bold, dim, localTime, oneLine, plural, say, sayJson } from "../terminal.ts";

const LABEL = 13;
const SHOWN_REFERENCES = 5;
/** How many handoffs back to look for a task that may have been meant. */
const NEAR = 200;

export const line = command({
  name: "line",
  summary: "a task's handoffs in order, each with where it stands",
  args: [{ name: "task", help: "the task's name" }],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [task = ""], options }) {
    await using hub = await openExisting(options);
    const steps = await hub.line(task);
    if (options.json) sayJson(steps);
    else if (steps.length === 0) say(dim(await nothingOf(hub, task)));
    else {
      say(`${bold(oneLine(task))}${dim(`, ${plural(steps.length, "handoff")}`)}`);
      for (const step of steps) await sayStep(hub, step);
    }
    return OK;
  },
});

async function nothingOf(hub: Hub, task: string): Promise<string> {
  const handoffs = await hub.recent({ type: "handoff", limit: NEAR });
  const near = nearestNames(task, [...new Set(handoffs.map((memory) => memory.task ?? ""))]);
  const hint = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
  return `No handoffs of task "${oneLine(task)}".${hint}`;
}

async function sayStep(hub: Hub, { envelope, deliveries }: LineStep): Promise<void> {
  const { from, to, action, hop, constraints } = envelope;
  say();
  say(`${bold(`${from.agent} → ${nameOf(to)}`)}  ${action}${dim(`, hop ${hop}`)}`);
  sayField("intent", [envelope.intent]);
  sayField("done", envelope.done);
  sayField("next", envelope.next);
  for (const level of new Set(constraints.map((constraint) => constraint.level))) {
    const rules = constraints.filter((constraint) => constraint.level === level);
    sayField(
      level,
      rules.map(({ rule }) => rule),
    );
  }
  sayField("do not redo", envelope.doNotRedo);
  sayField(
    "undecided",
    envelope.decisions.map(({ question }) => question),
  );
  sayField("refers to", await referencesOf(hub, envelope));
  if (deliveries.length === 0) sayField("state", ["replaced by a newer envelope"]);
  for (const delivery of deliveries) {
    sayField("state", [stateOf(delivery)]);
    sayField("tries", (await hub.attempts(delivery.id)).map(attemptOf));
  }
}

function sayField(label: string, values: readonly string[]): void {
  for (const [i, value] of values.entries()) {
    say(`  ${dim((i === 0 ? label : "").padEnd(LABEL))}${oneLine(value, LABEL + 2)}`);
  }
}

/** What the references say, the first few of them. */
async function referencesOf(hub: Hub, { refs }: LineStep["envelope"]): Promise<string[]> {
  const shown = refs.slice(0, SHOWN_REFERENCES).map(async ({ id, summary }) => {
    const memory = await hub.read(id);
    return `${memory.type}: ${summary ?? memory.content}`;
  });
  const left = refs.length - shown.length;
  return [...(await Promise.all(shown)), ...(left === 0 ? [] : [`and ${left} more`])];
}

function nameOf(to: LineStep["envelope"]["to"]): string {
  switch (to.kind) {
    case "agent":
      return to.agent;
    case "role":
      return `role:${to.role}`;
    case "channel":
      return `channel:${to.channel}`;
  }
}

/** Times count from sending. */
function stateOf({ state, attempt, maxAttempts, ...at }: DeliveryRow): string {
  const later = [
    ["accepted", at.acceptedAt],
    ["ended", at.settledAt],
  ] as const;
  const told = later
    .filter(([, time]) => time > 0)
    .map(([what, time]) => `, ${what} +${((time - at.sentAt) / 1000).toFixed(1)} s`);
  return `${state} on attempt ${attempt} of ${maxAttempts}, sent ${localTime(at.sentAt)}${told.join("")}`;
}

function attemptOf({ attempt, outcome, holder, reason }: AttemptRow): string {
  return `attempt ${attempt} by ${holder} ${outcome}${reason === "" ? "" : `: ${reason}`}`;
}
