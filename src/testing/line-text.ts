/**
 * A line as text, for people and for snapshots: who did what, with whom, and how it ended. Without ids,
 * and in milliseconds since its first step: under a test's clock and seed it is the same every time.
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

export async function lineText(hub: Hub, task: string): Promise<string> {
  return formatLine(await readLine(hub, task));
}

export function formatLine(facts: LineFacts): string {
  const { task, timeline } = facts;
  const [first] = timeline;
  if (first === undefined) return `${task}: nothing was handed over`;
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
  const tries = attemptsOf(shown).length;
  const { state } = shown.delivery;
  return `${state} by ${holderOrReceiverOf(shown)}${tries > 1 ? ` at try ${tries}` : ""}`;
};

const whoOf = ({ agent, to }: TimelineStep): string =>
  to === undefined ? agent : `${agent} → ${to}`;

function stepTextOf(step: TimelineStep): string {
  const { attempt = 0, kind, text, decision } = step;
  if (kind === "accepted") return `try ${attempt}`;
  const number = step.failure !== undefined && attempt > 0 ? `try ${attempt}: ` : "";
  const decided =
    decision === undefined
      ? ""
      : ` (${decision.by}: ${decision.decision}${decision.to === undefined ? "" : ` to ${decision.to}`})`;
  return `${number}${text}${decided}`.replace(/\s+/g, " ");
}

/** Padded to the widest of each column; numbers to the right, the last column is free. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const width = (i: number): number => Math.max(...rows.map((row) => row[i]?.length ?? 0));
  const [when, who, what] = [width(0), width(1), width(2)];
  return rows.map(([at = "", agents = "", kind = "", said = ""]) =>
    `  ${at.padStart(when)}  ${agents.padEnd(who)}  ${kind.padEnd(what)}  ${said}`.trimEnd(),
  );
}
