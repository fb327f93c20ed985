/**
 * Renders one item of an envelope (constraint, blocker, expected output, history entry, artifact or release) for a view,
 * identically in the view's sections "Task" and "Earlier on this task".
 */
import type { Envelope } from "../../envelope/schema.ts";
import { quoteText } from "../../text/fence.ts";
import type { CheckedArtifact } from "./view.ts";

type ItemOf<Key extends keyof Envelope> =
  NonNullable<Envelope[Key]> extends readonly (infer Item)[] ? Item : never;

/** Formats a time in UTC, independent of the reader's time zone. */
export const formatInstant = (at: number): string => `${new Date(at).toISOString().slice(0, 16)}Z`;

/** Renders a constraint. */
export function constraintText({ id, level, rule, source }: ItemOf<"constraints">): string {
  const by = source === undefined ? "" : ` because of ${quoteText(source)}`;
  return `${level} ${id}: ${quoteText(rule)}${by}`;
}

/** Renders a blocker. */
export const blockedText = ({ what, on }: ItemOf<"blocked">): string =>
  `blocked: ${quoteText(what)}${on === undefined ? "" : ` on ${quoteText(on)}`}`;

/** Renders an expected output. */
export function expectedText({
  name,
  type,
  format,
  maxLength,
  criteria,
}: ItemOf<"expects">): string {
  const limits = [
    type,
    ...(format === undefined ? [] : [`format ${quoteText(format)}`]),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
  ];
  const good = criteria.length === 0 ? "" : `; good when ${criteria.map(quoteText).join(", ")}`;
  return `expects ${quoteText(name)}: ${limits.join(", ")}${good}`;
}

/** Renders an entry of the history. */
export function historyText({ agent, at, did, decided, why, ref }: ItemOf<"history">): string {
  const when = at === undefined ? "" : `, ${formatInstant(at)}`;
  const chose = decided === undefined ? "" : ` decided ${quoteText(decided)}`;
  const because = why === undefined ? "" : ` because ${quoteText(why)}`;
  const record = ref === undefined ? "" : ` (${ref})`;
  return `${agent}${when}: ${quoteText(did)}${chose}${because}${record}`;
}

/** Renders an artifact with its freshness. */
export function artifactText(
  { kind, path, note, digest }: ItemOf<"artifacts">,
  freshness: CheckedArtifact["freshness"] = "unchecked",
): string {
  const state = freshness === "unchecked" ? "" : `, ${freshness.toUpperCase()}`;
  const noteText = note === undefined ? "" : `, ${quoteText(note)}`;
  const sum = digest === undefined ? "" : `, sha256 ${digest.slice(0, 12)}`;
  return `${kind} ${quoteText(path)}${state}${sum}${noteText}`;
}

/** Renders a release. `about`: the rule or question that was released, if it is known. */
export function releaseText(
  { id, by, reason, decided }: ItemOf<"released">,
  about?: string,
): string {
  const what = about === undefined ? "" : ` ${quoteText(about)}`;
  const chose = decided === undefined ? "" : `, decided ${quoteText(decided)}`;
  return `no longer holds: ${id}${what}, released by ${by}${chose} because ${quoteText(reason)}`;
}
