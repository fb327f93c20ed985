/** Returns what is missing or counted twice in a line; empty if nothing was lost. */
import { DELIVERY_STATES } from "../store/rows.ts";
import type { LineFacts } from "./line-facts.ts";

export function discrepanciesIn({ rows, events, totals, problems, steps }: LineFacts): string[] {
  const ids = rows.map(({ id }) => id);
  const known = new Set(ids);
  const made = new Set(events.flatMap(({ delivery = [] }) => delivery));
  const total = Object.values(totals.byState).reduce((sum, count) => sum + count, 0);
  return [
    ...(steps.length === 0 ? ["there are no handoffs"] : []),
    ...(total === totals.deliveries
      ? []
      : [`the totals do not match: ${totals.deliveries} deliveries, ${total} by state`]),
    ...ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `${id} exists twice`),
    ...rows
      .filter(({ state }) => !DELIVERY_STATES.includes(state))
      .map(({ id, state }) => `${id} has the invalid state "${state}"`),
    ...[...made].filter((id) => !known.has(id)).map((id) => `${id} was sent and does not exist`),
    ...[...known].filter((id) => !made.has(id)).map((id) => `${id} exists and was never sent`),
    ...problems.map(({ record, message }) => `${record}: ${message}`),
  ];
}
