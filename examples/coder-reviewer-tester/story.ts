/**
 * Renders what happened, from the store alone: the timeline (who did what, what failed, who decided
 * and why), how each task ended, and every message as it was sent.
 */
import type { ContextChange, Envelope, Hub, TimelineStep } from "batonpass";

const COLUMNS = 100;
const PART = 9;
/** Column at which the text of a line starts. */
const INDENT = 12 + PART;

/** One entry of the timeline, with details. */
interface TimelineEntry {
  readonly at: number;
  readonly of: string;
  readonly text: string;
  readonly details: readonly string[];
}

/** Renders the timeline as lines that fit into a terminal. */
export async function storyOf(hub: Hub, task: string): Promise<string[]> {
  const { items: steps } = await hub.tasks.timeline(task, { children: true });
  const began = steps[0]?.at ?? 0;
  const { items: changes } = await hub.context.changes({ limit: 1_000 });
  const moments = [
    ...steps.filter(isNews).map((step) => momentOf(step, task)),
    ...changes.filter(({ at, reason }) => at >= began && reason !== undefined).map(adoptionOf),
  ];
  return moments
    .sort((a, b) => a.at - b.at)
    .flatMap(({ at, of, text, details }) => {
      const when = `+${((at - began) / 1_000).toFixed(1)} s`.padStart(8);
      const lines = details.map((detail) => `${" ".repeat(INDENT + 2)}${detail}`);
      return [`${when}  ${of.padEnd(PART)}  ${text}`, ...lines].flatMap(wrapLine);
    });
}

/** Returns how each task ended, and why, one line each. */
export async function endsOf(hub: Hub, task: string): Promise<string[]> {
  const { tasks } = await hub.tasks.timeline(task, { children: true });
  const infos = await Promise.all(tasks.map((each) => hub.tasks.get(each)));
  const width = Math.max(...tasks.map((name) => name.length));
  return infos.flatMap(({ task: name, state, closed }) =>
    wrapLine(`${name.padEnd(width)}  ${state.padEnd(6)}  ${closed?.reason ?? ""}`),
  );
}

/** Returns every envelope of a task and its parts, in the order they were sent. */
export async function messagesOf(hub: Hub, task: string): Promise<Envelope[]> {
  const { tasks } = await hub.tasks.timeline(task, { children: true });
  const lines = await Promise.all(tasks.map((each) => hub.tasks.line(each)));
  const all = lines.flat().map(({ envelope }) => envelope);
  return all.sort((a, b) => a.metadata.createdAt - b.metadata.createdAt);
}

/** Omits acceptances and closings; closings are listed at the end. */
const isNews = ({ kind, report }: TimelineStep): boolean =>
  kind !== "accepted" && kind !== "closed" && !(report && kind === "completed");

function momentOf(step: TimelineStep, task: string): TimelineEntry {
  const { at, agent, to, kind, action } = step;
  const of = step.task.slice(task.length + 1) || task;
  const did = action === undefined || kind === "reported" ? "" : `, ${action}`;
  const who = to === undefined || kind === "decided" ? agent : `${agent} → ${to}${did}`;
  return { at, of, text: `${who}: ${textOf(step)}`, details: detailsOf(step) };
}

function textOf({ kind, text, failure, decision, attempt }: TimelineStep): string {
  if (kind === "decided" && decision !== undefined) {
    const { decision: what, to } = decision;
    return `DECIDED to ${what}${to === undefined ? "" : ` to ${to}`}`;
  }
  if (failure === undefined) return text;
  if (kind === "reported") return `"${failure.type}" needs a decision`;
  return `FAILED, attempt ${attempt}, ${failure.class} (${failure.type}): ${text}`;
}

function detailsOf({ kind, failure, decision }: TimelineStep): string[] {
  if (kind === "decided") return [`because: ${decision?.reason ?? ""}`];
  if (kind !== "failed" || failure === undefined) return [];
  const { attempted, hints } = failure;
  return [
    ...(attempted === undefined ? [] : [`tried: ${attempted}`]),
    ...hints.map((hint) => `hint: ${hint}`),
    ...(decision
      ? [`DECIDED by its ${decision.by}: ${decision.decision}, ${decision.reason}`]
      : []),
  ];
}

/** Renders an adopted proposal; the initial items of the shared context have no reason. */
function adoptionOf({ at, by, section, key, reason }: ContextChange): TimelineEntry {
  const text = `${by}: adopted ${section}/${key}`;
  return { at, of: "(shared)", text, details: [`because: ${reason}`] };
}

/** Wraps a long line between words and indents the rest. */
function wrapLine(line: string): string[] {
  if (line.length <= COLUMNS) return [line];
  const at = line.lastIndexOf(" ", COLUMNS);
  return [line.slice(0, at), ...wrapLine(`${" ".repeat(INDENT + 4)}${line.slice(at + 1)}`)];
}
