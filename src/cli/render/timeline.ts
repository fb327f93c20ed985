/**
 * Prints the timeline of a task: time, agents, event and reason of every step. Failures and decisions are
 * highlighted.
 */

import type { TimelineDecision, TimelineStep } from "../../coordination/timeline/step.ts";
import type { Timeline } from "../../coordination/timeline/timeline.ts";
import { bad, bold, dim, good, localTime, oneLine, plural, printLine } from "../terminal.ts";
import { printMore } from "./next-page.ts";

const KIND_WIDTH = 15;
/** Longer names shift only their own line. */
const MAX_AGENTS_WIDTH = 30;

/** Prints the steps with the time elapsed since the first one. */
export function printTimeline({ task, tasks, items, next }: Timeline): void {
  const [first] = items;
  const shown = items.filter((step) => !isRepeated(step));
  const parts = tasks.length === 1 ? "" : ` with ${plural(tasks.length - 1, "part")}`;
  printLine(
    `${bold(oneLine(task))}${dim(`${parts}, ${plural(shown.length, "step")} from ${localTime(first?.at ?? 0)}`)}`,
  );
  printLine();
  const rows = shown.map((step) => ({
    step,
    when: formatElapsed(step.at - (first?.at ?? 0)),
    who: whoOf(step),
  }));
  const widest = (texts: readonly string[]) => Math.max(...texts.map((text) => text.length));
  const columns = {
    when: widest(rows.map(({ when }) => when)),
    who: Math.min(MAX_AGENTS_WIDTH, widest(rows.map(({ who }) => who))),
    of: tasks.length === 1 ? undefined : task,
  };
  for (const row of rows) printStep(row, columns);
  printMore(next);
}

/** A failure report that ends after the decision repeats the decision. */
const isRepeated = ({ report, kind }: TimelineStep): boolean =>
  report === true && (kind === "completed" || kind === "cancelled");

interface Row {
  readonly step: TimelineStep;
  readonly when: string;
  readonly who: string;
}

interface Columns {
  readonly when: number;
  readonly who: number;
  /** The task that steps do not name; undefined: the timeline has only one task. */
  readonly of: string | undefined;
}

function printStep({ step, when, who }: Row, columns: Columns): void {
  const { kind, task, failure, decision } = step;
  const head = `${dim(when.padStart(columns.when))}  ${who.padEnd(columns.who)}  `;
  const indent = columns.when + columns.who + 4;
  const what = kind.replaceAll("_", " ").padEnd(KIND_WIDTH);
  const other = columns.of === undefined || task === columns.of ? "" : `[${task}] `;
  const text = oneLine(`${other}${textOf(step)}`, indent + KIND_WIDTH + 1);
  printLine(`${head}${toneOf(step)(what)} ${failure === undefined ? text : bad(text)}`.trimEnd());
  const below = (line: string): void =>
    printLine(`${" ".repeat(indent + KIND_WIDTH + 1)}${oneLine(line, indent + KIND_WIDTH + 1)}`);
  if (failure?.attempted !== undefined && kind === "failed") below(`tried: ${failure.attempted}`);
  if (kind === "failed") for (const hint of failure?.hints ?? []) below(`hint: ${hint}`);
  if (decision !== undefined && kind !== "decided") below(`→ ${decisionOf(decision)}`);
  if (step.why !== undefined && !textOf(step).includes(step.why)) below(`because ${step.why}`);
}

function toneOf({ kind, failure }: TimelineStep): (text: string) => string {
  if (failure !== undefined) return bad;
  if (kind === "decided") return bold;
  return kind === "completed" || kind === "closed" ? good : dim;
}

const whoOf = ({ agent, to, kind }: TimelineStep): string =>
  to === undefined || kind === "decided" ? agent : `${agent} → ${to}`;

function textOf(step: TimelineStep): string {
  const { action, kind, text, type, failure, decision, attempt } = step;
  if (decision !== undefined && kind === "decided") return decisionOf(decision, step.agent);
  if (failure !== undefined) {
    const count = attempt === undefined || attempt === 0 ? "" : `, attempt ${attempt}`;
    return `${failure.type}, ${failure.class}${count}: ${text}`;
  }
  if (kind === "accepted") return "";
  if (kind === "closed") return text.replace(`${step.agent} closed "${step.task}" `, "");
  if (action !== undefined && action !== "delegated") return `${action}: ${text}`;
  return kind === "noted" ? `${type}: ${text}` : text;
}

/** Formats `coordinator: reroute to backup, because …`; omits the name if it is `agent`. */
function decisionOf({ by, decision, to, reason }: TimelineDecision, agent?: string): string {
  const who = by === agent ? "" : `${by}: `;
  const whom = to === undefined ? "" : ` ${decision === "ask" ? "" : "to "}${to}`;
  return `${who}${decision}${whom}${reason === undefined ? "" : `, because ${reason}`}`;
}

/** Formats an elapsed time: `+12.3 s`, `+5 min 3 s`, `+3 h 5 min`, `+2 d 4 h`. */
function formatElapsed(ms: number): string {
  const units = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["min", 60_000],
    ["s", 1_000],
  ] as const;
  const at = units.findIndex(([, length]) => ms >= length);
  if (at === -1 || at === units.length - 1) return `+${(ms / 1_000).toFixed(1)} s`;
  const [[large, length], [small, part]] = [units[at] ?? units[0], units[at + 1] ?? units[3]];
  return `+${Math.floor(ms / length)} ${large} ${Math.floor((ms % length) / part)} ${small}`;
}
