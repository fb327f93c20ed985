/** Reads everything a hub knows about one task, once, so that all assertions refer to the same moment. */
import type { TimelineStep } from "../coordination/timeline/step.ts";
import type { DeliveryDetails } from "../delivery/watch/delivery-details.ts";
import type { LineStep } from "../delivery/watch/task-line.ts";
import type { Delivery } from "../history/delivery.ts";
import type { HubEvent } from "../history/event.ts";
import type { Hub } from "../hub/hub.ts";
import type { DeliveryTotals } from "../store/store.ts";
import type { Problem } from "../store/verify-report.ts";

/** Everything known about the line of a task. */
export interface LineFacts {
  readonly task: string;
  /** Its handoffs in the order they were sent, without reports of failures. */
  readonly steps: readonly LineStep[];
  /** Their deliveries in the same order, without those that a newer handoff replaced. */
  readonly deliveries: readonly DeliveryDetails[];
  readonly timeline: readonly TimelineStep[];
  /** Every delivery of the line, including those of reports and replaced ones. */
  readonly rows: readonly Delivery[];
  /** The events of this task. */
  readonly events: readonly HubEvent[];
  readonly totals: DeliveryTotals;
  readonly problems: readonly Problem[];
}

/** Reads the line of a task. */
export async function readLine(hub: Hub, task: string): Promise<LineFacts> {
  const all = await hub.tasks.line(task);
  const steps = all.filter(({ envelope }) => envelope.failure === undefined);
  const rows = all.flatMap(({ deliveries }) => deliveries);
  const shown: DeliveryDetails[] = [];
  for (const { id, state } of steps.flatMap(({ deliveries }) => deliveries)) {
    if (state !== "superseded") shown.push(await hub.deliveries.get(id));
  }
  return {
    task,
    steps,
    deliveries: shown,
    timeline: await readTimeline(hub, task),
    rows,
    events: await eventsOf(hub, task),
    totals: await hub.deliveries.totals(),
    problems: (await hub.verify()).problems,
  };
}

async function readTimeline(hub: Hub, task: string): Promise<readonly TimelineStep[]> {
  const all: TimelineStep[] = [];
  for (let after: string | undefined; ; ) {
    const { items, next } = await hub.tasks.timeline(task, after === undefined ? {} : { after });
    all.unshift(...items);
    if (next === undefined) return all;
    after = next;
  }
}

async function eventsOf(hub: Hub, task: string): Promise<HubEvent[]> {
  const found: HubEvent[] = [];
  for (let after = 0; ; ) {
    const { items, next } = await hub.events.list({ after });
    found.push(...items.filter((event) => event.task === task));
    if (next === undefined) return found;
    after = next;
  }
}

/** Returns the current or last holder of a delivery; its inbox if no agent claimed it. */
export const holderOrReceiverOf = ({ delivery }: DeliveryDetails): string =>
  delivery.holder ?? delivery.receiver;

/** The agent shown for an attempt that no agent accepted. */
const NO_AGENT = "no agent";

/** One attempt of a delivery: its number, agent and outcome. */
export interface AttemptSummary {
  readonly attempt: number;
  readonly agent: string;
  readonly outcome: string;
}

/**
 * Returns every attempt. Those that ended without completing are recorded; the last one is the delivery
 * itself.
 */
export function attemptsOf({ delivery, attempts }: DeliveryDetails): AttemptSummary[] {
  const ended = attempts
    .filter(({ outcome }) => outcome !== "stopped")
    .map(({ attempt, holder, outcome }) => ({
      attempt,
      agent: holder ?? NO_AGENT,
      outcome: outcome as string,
    }));
  const { attempt, state } = delivery;
  if (attempt === 0 || ended.some((each) => each.attempt === attempt)) return ended;
  return [...ended, { attempt, agent: delivery.holder ?? NO_AGENT, outcome: state }];
}

/** Returns the deliveries at the end of the line: those that were not handed on. */
export const finalDeliveriesOf = ({ deliveries }: LineFacts): DeliveryDetails[] =>
  deliveries.filter(({ result }) => result?.handedOn === undefined);
