/** Items of an envelope's lists as text: the same in the section of the task and in what came earlier. */
import type { Envelope } from "../../envelope/schema.ts";
import { quoteText } from "../../text/fence.ts";
import type { CheckedArtifact } from "./view.ts";

type ItemOf<Key extends keyof Envelope> =
  NonNullable<Envelope[Key]> extends readonly (infer Item)[] ? Item : never;

/** The same wherever and whenever it is read. */
export const formatInstant = (at: number): string => `${new Date(at).toISOString().slice(0, 16)}Z`;

export function constraintText({ id, level, rule, source }: ItemOf<"constraints">): string {
  const by = source === undefined ? "" : ` because of ${quoteText(source)}`;
  return `${level} ${id}: ${quoteText(rule)}${by}`;
}

export const blockedText = ({ what, on }: ItemOf<"blocked">): string =>
  `blocked: ${quoteText(what)}${on === undefined ? "" : ` on ${quoteText(on)}`}`;

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

export function historyText({ agent, at, did, decided, why, ref }: ItemOf<"history">): string {
  const when = at === undefined ? "" : `, ${formatInstant(at)}`;
  const chose = decided === undefined ? "" : ` decided ${quoteText(decided)}`;
  const because = why === undefined ? "" : ` because ${quoteText(why)}`;
  const record = ref === undefined ? "" : ` (${ref})`;
  return `${agent}${when}: ${quoteText(did)}${chose}${because}${record}`;
}

export function artifactText(
  { kind, path, note, digest }: ItemOf<"artifacts">,
  freshness: CheckedArtifact["freshness"] = "unchecked",
): string {
  const state = freshness === "unchecked" ? "" : `, ${freshness.toUpperCase()}`;
  const said = note === undefined ? "" : `, ${quoteText(note)}`;
  const sum = digest === undefined ? "" : `, sha256 ${digest.slice(0, 12)}`;
  return `${kind} ${quoteText(path)}${state}${sum}${said}`;
}

/** `about`: the rule or the question that was released, where it is known. */
export function releaseText(
  { id, by, reason, decided }: ItemOf<"released">,
  about?: string,
): string {
  const what = about === undefined ? "" : ` ${quoteText(about)}`;
  const chose = decided === undefined ? "" : `, decided ${quoteText(decided)}`;
  return `no longer holds: ${id}${what}, released by ${by}${chose} because ${quoteText(reason)}`;
}
