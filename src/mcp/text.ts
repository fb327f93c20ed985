/**
 * Records and handoffs as a model reads them. What the hub knows for itself (ids, names, states, times)
 * stands free; what somebody wrote stands between marks, as data.
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

/** A record, with as much of what it says as `text` is. */
export function memoryText(
  memory: ReadMemory,
  text: string,
  notes: readonly string[] = [],
): string {
  const { id, type, agent, task, createdAt, insteadOf, quarantined, redacted } = memory;
  const on = task === undefined ? "" : `, on ${quoteText(task)}`;
  const instead = insteadOf === undefined ? "" : `, holds instead of ${insteadOf}`;
  const head = `- [${type}] ${id} by ${agent}, ${day(createdAt)}${on}${instead}:`;
  const marks =
    quarantined === undefined ? [] : [`  Do not build on it: quarantined by ${quarantined.by}.`];
  const body =
    redacted === undefined
      ? quoteText(text)
      : `(taken away by ${redacted.by}: ${quoteText(redacted.reason)})`;
  return [`${head} ${body}`, ...marks, ...notes.map((note) => `  ${note}`)].join("\n");
}

/** A handoff in an inbox, on a line. */
export function inboxLine({ delivery, envelope }: DeliveryWithEnvelope): string {
  const { id, task, sender, state, attempt, sentAt } = delivery;
  const tried = attempt === 0 ? "" : `, tried ${attempt}×`;
  const priority = envelope.priority === undefined ? "" : `, ${envelope.priority}`;
  const head = `- ${id} ${quoteText(task)} from ${sender}, ${state}${priority}${tried}, sent ${minute(sentAt)}:`;
  return `${head} ${quoteText(envelope.intent)}`;
}

/** Where a handoff stands, and what came of it. */
export const deliveryStatusText = (shown: DeliveryDetails): string =>
  deliveryStatusLines(shown).join("\n");

/** The first says where it stands; the others can be left out. */
export function deliveryStatusLines({ delivery, envelope, ...shown }: DeliveryDetails): string[] {
  const { id, task, sender, state, holder, attempt, maxAttempts, sentAt } = delivery;
  const has = state === "accepted" || state === "claimed" ? ` by ${holder}` : "";
  const tried = attempt > 1 ? `, attempt ${attempt} of ${maxAttempts}` : "";
  const to = fenceAddress(addressOf(envelope.to));
  return [
    `${id}: ${quoteText(task)}, from ${sender} to ${to}, sent ${minute(sentAt)}: ${state}${has}${tried}.`,
    ...(shown.result === undefined ? [] : resultLines(shown.result)),
    ...(shown.reason === undefined ? [] : [`Reason: ${quoteText(shown.reason)}`]),
    ...(shown.question === undefined ? [] : [`Asks: ${quoteText(shown.question)}`]),
  ];
}

function resultLines(result: NonNullable<DeliveryDetails["result"]>): string[] {
  const { summary, outputs, outcome, memory, handedOn, gaps = [] } = result;
  return [
    `Result (${memory}): ${quoteText(summary)}`,
    ...(outcome === undefined ? [] : [`Outcome: ${outcome}`]),
    ...(Object.keys(outputs).length === 0 ? [] : [`Outputs:\n${dataText(outputs)}`]),
    ...gaps.map(({ id }) => `It could not find ${id}.`),
    ...(handedOn === undefined ? [] : [`Handed on as ${handedOn}.`]),
  ];
}

/** Anything stored, as JSON between marks. */
export const dataText = (value: unknown): string => fenceText(JSON.stringify(value, null, 1));

export function warningLines(warnings: readonly Warning[]): string[] {
  return warnings.map(
    ({ memory, by, reason }) =>
      `Do not build on ${memory}: quarantined by ${by}, because ${quoteText(reason)}`,
  );
}

/** Credentials are never stored; whoever said one is told, and what it was. */
export function secretLines(secrets: readonly DetectedSecret[] = []): string[] {
  if (secrets.length === 0) return [];
  const all = secrets.map(({ kind, path }) => `${kind} (${path})`).join(", ");
  return [`Taken out before it was stored: ${all}. Say where a secret is kept, never the secret.`];
}

/** What the lint found in a handoff, each with what to write instead. Paths can contain names that users chose. */
export const findingLines = (findings: readonly Finding[]): string[] =>
  findings.map(
    ({ level, rule, message, hint }) => `${level} ${rule}: ${quoteText(message)} ${hint}`,
  );

export function conflictLines(conflicts: readonly ReservationConflict[]): string[] {
  return conflicts.map(({ agent, task, globs, note }) => {
    const why = note === undefined ? "" : `: ${quoteText(note)}`;
    return `${agent} works on ${quoteText(globs.join(", "))} too, for ${quoteText(task)}${why}. Talk first, or take another part.`;
  });
}
