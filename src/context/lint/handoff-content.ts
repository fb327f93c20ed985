/** What a sender says, the same whether it was sent or not, and every text in it with its place. */

import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { CheckedDraft, Envelope } from "../../envelope/schema.ts";
import { artifactOf, blockedOf, constraintOf, decisionOf } from "../../envelope/seal.ts";
import type { HandoffContent } from "./rule.ts";

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

export const contentOfEnvelope = (envelope: Envelope): HandoffContent => envelope;

export interface TextWithPath {
  readonly path: string;
  readonly text: string;
}

/** The fields that hold what somebody wrote; ids and names are no prose. */
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

/** Every text of a letter, also those of its payload, with where it stands. */
export function textsOf(letter: HandoffContent): TextWithPath[] {
  return TEXT_FIELDS.flatMap((field) => textsIn(letter[field], field));
}

/** The same of any value that JSON can carry. */
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

/** An object or list to read. What contains itself or is nested too deep is refused when it is sealed, with its path. */
export const isNested = (value: unknown, ancestors: readonly object[]): value is object =>
  typeof value === "object" &&
  value !== null &&
  ancestors.length <= FORMAT_LIMITS.jsonDepth &&
  !ancestors.includes(value);
