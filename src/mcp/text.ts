/**
 * Formats records and handoffs as text for a model. Values that the hub sets (ids, names, states, times) are
 * plain; text that an agent or person wrote is fenced between marks, as data.
 */

import type { Finding } from "../context/lint/rule.ts";
import type { ReservationConflict } from "../coordination/reservations/conflicts.ts";
import type { DeliveryDetails } from "../delivery/watch/delivery-details.ts";
import type { DeliveryWithEnvelope } from "../delivery/watch/inbox-listing.ts";
import type { ReadMemory } from "../delivery/work/read-record.ts";
import type { Warning } from "../delivery/work/warnings.ts";
import type { DetectedSecret } from "../envelope/mask-secrets.ts";
import { addressOf } from "../envelope/schema.ts";
import { fenceAddress, fenceText, quoteText } from "../text/fence.ts";

const day = (at: number): string => new Date(at).toISOString().slice(0, 10);
const minute = (at: number): string => new Date(at).toISOString().slice(0, 16).replace("T", " ");

/** Returns a record with `text` as its content, followed by notes. */
export function memoryText(
  memory: ReadMemory,
  text: string,
  notes: readonly string[] = [],
): string {
  const { id, type, agent, task, createdAt, insteadOf, quarantined, redacted } = memory;
  const on = task === undefined ? "" : `, on ${quoteText(task)}`;
  const instead = insteadOf === undefined ? "" : `, replaces ${insteadOf}`;
  const head = `- [${type}] ${id} by ${agent}, ${day(createdAt)}${on}${instead}:`;
  const marks =
    quarantined === undefined ? [] : [`  Do not build on it: quarantined by ${quarantined.by}.`];
  const body =
    redacted === undefined
      ? quoteText(text)
      : `(redacted by ${redacted.by}: ${quoteText(redacted.reason)})`;
  return [`${head} ${body}`, ...marks, ...notes.map((note) => `  ${note}`)].join("\n");
}

/** Returns a delivery of an inbox as one line. */
export function inboxLine({ delivery, envelope }: DeliveryWithEnvelope): string {
  const { id, task, sender, state, attempt, sentAt } = delivery;
  const tried = attempt === 0 ? "" : `, attempts: ${attempt}`;
  const priority = envelope.priority === undefined ? "" : `, ${envelope.priority}`;
  const head = `- ${id} ${quoteText(task)} from ${sender}, ${state}${priority}${tried}, sent ${minute(sentAt)}:`;
  return `${head} ${quoteText(envelope.intent)}`;
}

/** Returns the state of a handoff and its result. */
export const deliveryStatusText = (shown: DeliveryDetails): string =>
  deliveryStatusLines(shown).join("\n");

/** Returns the same as lines. The first contains the state; the others can be omitted. */
export function deliveryStatusLines({ delivery, envelope, ...shown }: DeliveryDetails): string[] {
  const { id, task, sender, state, holder, attempt, maxAttempts, sentAt } = delivery;
  const has = state === "accepted" || state === "claimed" ? ` by ${holder}` : "";
  const tried = attempt > 1 ? `, attempt ${attempt} of ${maxAttempts}` : "";
  const to = fenceAddress(addressOf(envelope.to));
  return [
    `${id}: ${quoteText(task)}, from ${sender} to ${to}, sent ${minute(sentAt)}: ${state}${has}${tried}.`,
    ...(shown.result === undefined ? [] : resultLines(shown.result)),
    ...(shown.reason === undefined ? [] : [`Reason: ${quoteText(shown.reason)}`]),
    ...(shown.question === undefined ? [] : [`Question: ${quoteText(shown.question)}`]),
  ];
}

function resultLines(result: NonNullable<DeliveryDetails["result"]>): string[] {
  const { summary, outputs, outcome, memory, handedOn, gaps = [] } = result;
  return [
    `Result (${memory}): ${quoteText(summary)}`,
    ...(outcome === undefined ? [] : [`Outcome: ${outcome}`]),
    ...(Object.keys(outputs).length === 0 ? [] : [`Outputs:\n${dataText(outputs)}`]),
    ...gaps.map(({ id }) => `Reference not found: ${id}.`),
    ...(handedOn === undefined ? [] : [`Handed on as ${handedOn}.`]),
  ];
}

/** Returns any stored value as fenced JSON. */
export const dataText = (value: unknown): string => fenceText(JSON.stringify(value, null, 1));

/** Returns one line for each quarantined memory that the work builds on. */
export function warningLines(warnings: readonly Warning[]): string[] {
  return warnings.map(
    ({ memory, by, reason }) =>
      `Do not build on ${memory}: quarantined by ${by}, because ${quoteText(reason)}`,
  );
}

/** Reports the secrets that were removed from the input, by kind and path; empty if there are none. */
export function secretLines(secrets: readonly DetectedSecret[] = []): string[] {
  if (secrets.length === 0) return [];
  const all = secrets.map(({ kind, path }) => `${kind} (${path})`).join(", ");
  return [`Removed before storing: ${all}. Write where a secret is stored, never the secret.`];
}

/** Returns lint findings with their hints. Messages are quoted: paths can contain names that users chose. */
export const findingLines = (findings: readonly Finding[]): string[] =>
  findings.map(
    ({ level, rule, message, hint }) => `${level} ${rule}: ${quoteText(message)} ${hint}`,
  );

/** Returns one line for each conflicting reservation. */
export function conflictLines(conflicts: readonly ReservationConflict[]): string[] {
  return conflicts.map(({ agent, task, globs, note }) => {
    const why = note === undefined ? "" : `: ${quoteText(note)}`;
    return `${agent} also works on ${quoteText(globs.join(", "))}, for ${quoteText(task)}${why}. Coordinate first, or choose another part.`;
  });
}
