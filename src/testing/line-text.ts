/**
 * Formats a line as text, for people and for snapshots: which agent did what, with whom, and how it ended.
 * Without ids, and with times in milliseconds since its first step, so that with the test clock and a seed
 * the text is always the same.
 */
import type { TimelineStep } from "../coordination/timeline/step.ts";
import type { DeliveryDetails } from "../delivery/watch/delivery-details.ts";
import type { Hub } from "../hub/hub.ts";
import {
  attemptsOf,
  finalDeliveriesOf,
  holderOrReceiverOf,
  type LineFacts,
  readLine,
} from "./line-facts.ts";

/** Returns the line of a task as text. */
export async function lineText(hub: Hub, task: string): Promise<string> {
  return formatLine(await readLine(hub, task));
}

/** Returns a line that was read as text. */
export function formatLine(facts: LineFacts): string {
  const { task, timeline } = facts;
  const [first] = timeline;
  if (first === undefined) return `${task}: there are no handoffs`;
  const rows = timeline.map((step) => [
    `${step.at - first.at} ms`,
    whoOf(step),
    step.kind.replaceAll("_", " "),
    stepTextOf(step),
  ]);
  const ends = finalDeliveriesOf(facts).map(endOf).join(", ");
  return [`${task}: ${ends}`, ...columns(rows)].join("\n");
}

const endOf = (shown: DeliveryDetails): string => {
  const attempts = attemptsOf(shown).length;
  const { state } = shown.delivery;
  return `${state} by ${holderOrReceiverOf(shown)}${attempts > 1 ? ` at attempt ${attempts}` : ""}`;
};

const whoOf = ({ agent, to }: TimelineStep): string =>
  to === undefined ? agent : `${agent} → ${to}`;

function stepTextOf(step: TimelineStep): string {
  const { attempt = 0, kind, text, decision } = step;
  if (kind === "accepted") return `attempt ${attempt}`;
  const number = step.failure !== undefined && attempt > 0 ? `attempt ${attempt}: ` : "";
  const decided =
    decision === undefined
      ? ""
      : ` (${decision.by}: ${decision.decision}${decision.to === undefined ? "" : ` to ${decision.to}`})`;
  return `${number}${text}${decided}`.replace(/\s+/g, " ");
}

/** Pads columns to their widest cell: times to the right, the last column is not padded. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const width = (i: number): number => Math.max(...rows.map((row) => row[i]?.length ?? 0));
  const [when, who, what] = [width(0), width(1), width(2)];
  return rows.map(([at = "", agents = "", kind = "", said = ""]) =>
    `  ${at.padStart(when)}  ${agents.padEnd(who)}  ${kind.padEnd(what)}  ${said}`.trimEnd(),
  );
}
