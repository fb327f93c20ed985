/** Parses the short forms of a handoff's parts in options: `should: stay small`, `verdict:approval`. */
import type { DetailLevel, Draft } from "../../envelope/schema.ts";
import { usageError } from "../usage-error.ts";
import { omitUndefined } from "./omit-undefined.ts";

/** How much of a referenced memory the receiver gets. */
export const LEVELS = [
  "reference",
  "summary",
  "detail",
  "full",
] as const satisfies readonly DetailLevel[];
const LEVEL = /^(must|should|may):\s*(?=\S)/;

/** Parses a constraint: `should: stay small`; without a level it is a must. */
export function constraintOf(text: string): NonNullable<Draft["constraints"]>[number] {
  const level = LEVEL.exec(text)?.[1];
  if (level === undefined) return text;
  return { level: level as "must" | "should" | "may", rule: text.replace(LEVEL, "") };
}

/** Parses a reference: `mem_…@summary?=Why we chose REST`. */
export function referenceOf(text: string): NonNullable<Draft["refs"]>[number] {
  const [, id, level, optional, summary] =
    /^([^@?=\s]+)(?:@([a-z]+))?(\?)?(?:=(.+))?$/s.exec(text) ?? [];
  const known = LEVELS.find((each) => each === level);
  if (id === undefined || (level !== undefined && known === undefined)) {
    throw usageError(
      "--ref",
      `Invalid --ref "${text}": expected a memory id.`,
      `Write mem_…, with @${LEVELS.join("|")} for the level of detail, ? if it is optional, and =<summary> to summarize it.`,
    );
  }
  if (level === undefined && optional === undefined && summary === undefined) return id;
  return {
    id,
    ...omitUndefined({
      level: known,
      optional: optional === undefined ? undefined : (true as const),
      summary,
    }),
  };
}

/** Parses a blocker and what it waits for: `The release=Legal approval`. */
export function blockedOf(text: string): NonNullable<Draft["blocked"]>[number] {
  const { before: what, after: on } = splitAtEquals(text);
  return { what, ...omitUndefined({ on }) };
}

/** Parses an open decision and its options: `Which cache?=memory; redis`. */
export function decisionOf(text: string): NonNullable<Draft["decisions"]>[number] {
  const { before: question, after } = splitAtEquals(text);
  return after === undefined ? question : { question, options: partsOf(after) };
}

/** Parses a history entry: `planner:Split the module=It was too long`. */
export function historyOf(text: string): NonNullable<Draft["history"]>[number] {
  const [, agent, action] = /^([^:\s]+):(.+)$/s.exec(text) ?? [];
  if (agent === undefined || action === undefined) {
    throw usageError(
      "--history",
      `Invalid --history "${text}": the agent is missing.`,
      'Write "<agent>:<what it did>=<why>"; the reason is optional.',
    );
  }
  const { before: did, after: why } = splitAtEquals(action);
  return { agent, did, ...omitUndefined({ why }) };
}

/** Parses an artifact: `pr:42`. */
export function artifactOf(text: string): NonNullable<Draft["artifacts"]>[number] {
  const [, kind, path] = /^([^:\s]+):(.+)$/s.exec(text) ?? [];
  if (kind !== undefined && path !== undefined) return { kind, path };
  throw usageError(
    "--artifact",
    `Invalid --artifact "${text}": the kind is missing.`,
    "Write <kind>:<path>, for example pr:42, url:https://… or output:logs/run.txt.",
  );
}

/** Splits at the first `=`; `after` is absent if nothing follows it. */
function splitAtEquals(text: string): { readonly before: string; readonly after?: string } {
  const at = text.indexOf("=");
  const after = at < 0 ? "" : text.slice(at + 1).trim();
  return { before: (at < 0 ? text : text.slice(0, at)).trim(), ...(after !== "" && { after }) };
}

/** Splits a list: `memory; redis`. */
const partsOf = (text: string): string[] =>
  text
    .split(";")
    .map((each) => each.trim())
    .filter((each) => each !== "");

/** Parses a release: `con-1a2b3c=The client no longer asks for it`. */
export function releaseOf(text: string): NonNullable<Draft["releases"]>[number] {
  const at = text.indexOf("=");
  const reason = text.slice(at + 1).trim();
  if (at > 0 && reason !== "") return { id: text.slice(0, at).trim(), reason };
  throw usageError(
    "--release",
    `Invalid --release "${text}": the reason is missing.`,
    'Write --release <id>="<reason>"; baton ledger <task> lists the ids.',
  );
}

/** Parses an expected output: `verdict:approval`, `patch:diff=All tests pass; it is small`. */
export function expectedOf(text: string): NonNullable<Draft["expects"]>[number] {
  const [, name, type, criteria] = /^([^=]+):([^:\s=]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (name !== undefined && type !== undefined) {
    const good = criteria === undefined ? undefined : partsOf(criteria);
    return { name: name.trim(), type, ...omitUndefined({ criteria: good }) };
  }
  throw usageError(
    "--expect",
    `Invalid --expect "${text}": the type is missing.`,
    "Write <name>:<type>, for example report:text, patch:diff or verdict:approval; add criteria after =.",
  );
}
