/** Items of an envelope's lists as text: the same in the section of the task and in what came earlier. */
import type { Envelope } from "../../envelope/schema.ts";
import { quoted } from "../../text/fence.ts";
import type { CheckedArtifact } from "./view.ts";

type Each<Key extends keyof Envelope> =
  NonNullable<Envelope[Key]> extends readonly (infer Item)[] ? Item : never;

/** The same wherever and whenever it is read. */
export const instantOf = (at: number): string => `${new Date(at).toISOString().slice(0, 16)}Z`;

export function constraintText({ id, level, rule, source }: Each<"constraints">): string {
  const by = source === undefined ? "" : ` because of ${quoted(source)}`;
  return `${level} ${id}: ${quoted(rule)}${by}`;
}

export const blockedText = ({ what, on }: Each<"blocked">): string =>
  `blocked: ${quoted(what)}${on === undefined ? "" : ` on ${quoted(on)}`}`;

export function expectedText({ name, type, format, maxLength, criteria }: Each<"expects">): string {
  const limits = [
    type,
    ...(format === undefined ? [] : [`format ${quoted(format)}`]),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
  ];
  const good = criteria.length === 0 ? "" : `; good when ${criteria.map(quoted).join(", ")}`;
  return `expects ${quoted(name)}: ${limits.join(", ")}${good}`;
}

export function historyText({ agent, at, did, decided, why, ref }: Each<"history">): string {
  const when = at === undefined ? "" : `, ${instantOf(at)}`;
  const chose = decided === undefined ? "" : ` decided ${quoted(decided)}`;
  const because = why === undefined ? "" : ` because ${quoted(why)}`;
  const record = ref === undefined ? "" : ` (${ref})`;
  return `${agent}${when}: ${quoted(did)}${chose}${because}${record}`;
}

export function artifactText(
  { kind, path, note, digest }: Each<"artifacts">,
  freshness: CheckedArtifact["freshness"] = "unchecked",
): string {
  const state = freshness === "unchecked" ? "" : `, ${freshness.toUpperCase()}`;
  const said = note === undefined ? "" : `, ${quoted(note)}`;
  const sum = digest === undefined ? "" : `, sha256 ${digest.slice(0, 12)}`;
  return `${kind} ${quoted(path)}${state}${sum}${said}`;
}

/** `about`: the rule or the question that was released, where it is known. */
export function releaseText({ id, by, reason, decided }: Each<"released">, about?: string): string {
  const what = about === undefined ? "" : ` ${quoted(about)}`;
  const chose = decided === undefined ? "" : `, decided ${quoted(decided)}`;
  return `no longer holds: ${id}${what}, released by ${by}${chose} because ${quoted(reason)}`;
}
