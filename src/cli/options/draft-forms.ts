/** The short forms of a handoff's parts, as options write them: `should: stay small`, `verdict:approval`. */
import type { DetailLevel, Draft } from "../../envelope/schema.ts";
import { usageError } from "../usage-error.ts";
import { omitUndefined } from "./omit-undefined.ts";

export const LEVELS = [
  "reference",
  "summary",
  "detail",
  "full",
] as const satisfies readonly DetailLevel[];
const LEVEL = /^(must|should|may):\s*(?=\S)/;

/** `should: stay small` */
export function constraintOf(text: string): NonNullable<Draft["constraints"]>[number] {
  const level = LEVEL.exec(text)?.[1];
  if (level === undefined) return text;
  return { level: level as "must" | "should" | "may", rule: text.replace(LEVEL, "") };
}

/** `mem_…@summary?=Why we chose REST` */
export function referenceOf(text: string): NonNullable<Draft["refs"]>[number] {
  const [, id, level, optional, summary] =
    /^([^@?=\s]+)(?:@([a-z]+))?(\?)?(?:=(.+))?$/s.exec(text) ?? [];
  const known = LEVELS.find((each) => each === level);
  if (id === undefined || (level !== undefined && known === undefined)) {
    throw usageError(
      "--ref",
      `--ref is "${text}", which names no memory.`,
      `Write mem_…, mem_…@${LEVELS.join("|")} for how much of it, mem_…? if it may be missing, mem_…=<summary>.`,
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

/** `The release=Legal approval` */
export function blockedOf(text: string): NonNullable<Draft["blocked"]>[number] {
  const { before: what, after: on } = splitAtEquals(text);
  return { what, ...omitUndefined({ on }) };
}

/** `Which cache?=memory; redis` */
export function decisionOf(text: string): NonNullable<Draft["decisions"]>[number] {
  const { before: question, after } = splitAtEquals(text);
  return after === undefined ? question : { question, options: partsOf(after) };
}

/** `planner:Split the module=It was too long` */
export function historyOf(text: string): NonNullable<Draft["history"]>[number] {
  const [, agent, said] = /^([^:\s]+):(.+)$/s.exec(text) ?? [];
  if (agent === undefined || said === undefined) {
    throw usageError(
      "--history",
      `--history is "${text}", which does not name an agent.`,
      'Write "<agent>:<what it did>", with why after =.',
    );
  }
  const { before: did, after: why } = splitAtEquals(said);
  return { agent, did, ...omitUndefined({ why }) };
}

/** `pr:42` */
export function artifactOf(text: string): NonNullable<Draft["artifacts"]>[number] {
  const [, kind, path] = /^([^:\s]+):(.+)$/s.exec(text) ?? [];
  if (kind !== undefined && path !== undefined) return { kind, path };
  throw usageError(
    "--artifact",
    `--artifact is "${text}", which does not name a kind.`,
    "Write <kind>:<path>, as in pr:42, url:https://… or output:logs/run.txt.",
  );
}

/** What stands before the first = and after it, where there is something. */
function splitAtEquals(text: string): { readonly before: string; readonly after?: string } {
  const at = text.indexOf("=");
  const after = at < 0 ? "" : text.slice(at + 1).trim();
  return { before: (at < 0 ? text : text.slice(0, at)).trim(), ...(after !== "" && { after }) };
}

/** `memory; redis` */
const partsOf = (text: string): string[] =>
  text
    .split(";")
    .map((each) => each.trim())
    .filter((each) => each !== "");

/** `con-1a2b3c=The client no longer asks for it` */
export function releaseOf(text: string): NonNullable<Draft["releases"]>[number] {
  const at = text.indexOf("=");
  const reason = text.slice(at + 1).trim();
  if (at > 0 && reason !== "") return { id: text.slice(0, at).trim(), reason };
  throw usageError(
    "--release",
    `--release is "${text}", which gives no reason.`,
    'Write --release <id>="<reason>", with an id of baton ledger <task>.',
  );
}

/** `verdict:approval`, `patch:diff=All tests pass; it is small` */
export function expectedOf(text: string): NonNullable<Draft["expects"]>[number] {
  const [, name, type, criteria] = /^([^=]+):([^:\s=]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (name !== undefined && type !== undefined) {
    const good = criteria === undefined ? undefined : partsOf(criteria);
    return { name: name.trim(), type, ...omitUndefined({ criteria: good }) };
  }
  throw usageError(
    "--expect",
    `--expect is "${text}", which names no type.`,
    "Write <name>:<type>, as in report:text, patch:diff or verdict:approval; criteria after =.",
  );
}
