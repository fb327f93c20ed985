/** What is missing or counted twice in the books of a line; nothing, when nothing was lost. */
import { DELIVERY_STATES } from "../store/rows.ts";
import type { LineFacts } from "./line-facts.ts";

export function discrepanciesIn({ rows, events, books, problems, steps }: LineFacts): string[] {
  const ids = rows.map(({ id }) => id);
  const known = new Set(ids);
  const made = new Set(events.flatMap(({ delivery = [] }) => delivery));
  const total = Object.values(books.byState).reduce((sum, count) => sum + count, 0);
  return [
    ...(steps.length === 0 ? ["nothing was handed over"] : []),
    ...(total === books.deliveries
      ? []
      : [`the books count ${books.deliveries} deliveries, and ${total} by their states`]),
    ...ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `${id} is there twice`),
    ...rows
      .filter(({ state }) => !DELIVERY_STATES.includes(state))
      .map(({ id, state }) => `${id} is "${state}", which is no state`),
    ...[...made].filter((id) => !known.has(id)).map((id) => `${id} was sent, and is gone`),
    ...[...known].filter((id) => !made.has(id)).map((id) => `${id} is there, and nobody sent it`),
    ...problems.map(({ record, message }) => `${record}: ${message}`),
  ];
}
