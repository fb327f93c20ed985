/** The content of a handoff in one form for drafts and envelopes, and every text in it with its path. */

import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { CheckedDraft, Envelope } from "../../envelope/schema.ts";
import { artifactOf, blockedOf, constraintOf, decisionOf } from "../../envelope/seal.ts";
import type { HandoffContent } from "./rule.ts";

/** Returns the content of a draft. */
export function contentOfDraft(draft: CheckedDraft): HandoffContent {
  return {
    ...draft,
    artifacts: draft.artifacts.map(artifactOf),
    blocked: draft.blocked.map(blockedOf),
    constraints: draft.constraints.map(constraintOf),
    decisions: draft.decisions.map(decisionOf),
    metadata: draft.metadata ?? {},
    refs: draft.refs.map((ref) => (typeof ref === "string" ? { id: ref } : ref)),
    released: draft.releases,
    task: draft.task,
  };
}

/** Returns the content of an envelope. */
export const contentOfEnvelope = (envelope: Envelope): HandoffContent => envelope;

/** A text and its path in the handoff. */
export interface TextWithPath {
  readonly path: string;
  readonly text: string;
}

/** Fields that contain prose; ids and names do not. */
const TEXT_FIELDS = [
  "artifacts",
  "blocked",
  "constraints",
  "decisions",
  "doNotRedo",
  "done",
  "expects",
  "history",
  "intent",
  "metadata",
  "next",
  "payload",
  "refs",
  "state",
] as const satisfies readonly (keyof HandoffContent)[];

/** Returns every text of a handoff with its path, including those in the payload. */
export function textsOf(letter: HandoffContent): TextWithPath[] {
  return TEXT_FIELDS.flatMap((field) => textsIn(letter[field], field));
}

/** Returns every text in a JSON value with its path. */
export function textsIn(
  value: unknown,
  path: string,
  ancestors: readonly object[] = [],
): TextWithPath[] {
  if (typeof value === "string") return [{ path, text: value }];
  if (!isNested(value, ancestors)) return [];
  const within = [...ancestors, value];
  if (Array.isArray(value))
    return value.flatMap((item, i) => textsIn(item, `${path}[${i}]`, within));
  return Object.entries(value).flatMap(([key, item]) => textsIn(item, `${path}.${key}`, within));
}

/**
 * Returns whether a value is an object or list to descend into. A value that contains itself or is nested too
 * deep is refused when it is sealed, with its path.
 */
export const isNested = (value: unknown, ancestors: readonly object[]): value is object =>
  typeof value === "object" &&
  value !== null &&
  ancestors.length <= FORMAT_LIMITS.jsonDepth &&
  !ancestors.includes(value);
