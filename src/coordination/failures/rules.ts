/**
 * What is decided about which failures, as data that the workspace shares. Of the rules that fit, the one
 * with most conditions counts first, of as many the first by name; one that cannot be carried out is
 * passed over.
 */

import * as z from "zod";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { Reason } from "../../delivery/settle/reason.ts";
import { Address, AgentName, FAILURE_CLASSES, Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import { changeEntry, entriesOf, entryValue } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Decision } from "./decision.ts";
import type { FailureInfo } from "./info.ts";

const RULE = "failure-rule";

const Word = z.string().min(1).max(FORMAT_LIMITS.nameLength);

export const FailureRuleSchema = z.strictObject({
  reason: Reason.optional(),
  then: z.union(
    [
      z.strictObject({
        retry: z.strictObject({
          delayMs: z.int().min(0).max(FORMAT_LIMITS.durationMs).optional(),
        }),
      }),
      z.strictObject({ reroute: Address }),
      z.strictObject({ ask: AgentName }),
      z.strictObject({ abort: z.literal(true) }),
    ],
    { error: 'must be { retry: {} }, { reroute: "…" }, { ask: "…" } or { abort: true }' },
  ),
  when: z
    .strictObject({
      class: z.enum(FAILURE_CLASSES).optional(),
      /** So many decisions about the same delivery at most: 0 is the first time. */
      decided: z.int().min(0).optional(),
      /** Who was to do it: an agent, or role:…. */
      receiver: Address.optional(),
      /** The role of whoever was to do it. */
      role: Name.optional(),
      /** A task's name; * stands for anything. */
      task: Word.optional(),
      type: Word.optional(),
    })
    .default({}),
});

export type FailureRule = z.input<typeof FailureRuleSchema>;
export type FailureRuleInfo = z.output<typeof FailureRuleSchema> & { readonly name: string };

const ruleName = (name: unknown): string =>
  parseOrThrow(Name, name, { code: "invalid_input", what: "The rule's name", prefix: "name" });

export async function setRule(
  workspace: Workspace,
  name: string,
  rule: FailureRule,
): Promise<void> {
  const said = await redactSecrets(workspace, { name, rule });
  const value = parseOrThrow(FailureRuleSchema, said.rule, {
    code: "invalid_input",
    what: "The rule",
  });
  await changeEntry(workspace, { kind: RULE, name: ruleName(said.name) }, () => ({ value }));
}

export async function deleteRule(workspace: Workspace, name: string): Promise<void> {
  await changeEntry(workspace, { kind: RULE, name: ruleName(name) }, () => ({ value: undefined }));
}

export async function listRules(workspace: Workspace): Promise<FailureRuleInfo[]> {
  const all: FailureRuleInfo[] = [];
  for await (const entry of entriesOf(workspace, RULE)) {
    const value = entryValue<z.output<typeof FailureRuleSchema>>(entry);
    if (value !== undefined) all.push({ name: entry.name, ...value });
  }
  return all;
}

/** Those that fit, in the order they count. */
export function matchingRules(
  all: readonly FailureRuleInfo[],
  failure: FailureInfo,
): readonly FailureRuleInfo[] {
  const conditions = ({ when }: FailureRuleInfo): number => Object.keys(when).length;
  return all
    .filter(({ when }) => matchesRule(when, failure))
    .sort((a, b) => conditions(b) - conditions(a));
}

function matchesRule(when: FailureRuleInfo["when"], info: FailureInfo): boolean {
  const { type, class: kind } = info.failure;
  return (
    (when.class ?? kind) === kind &&
    (when.decided ?? Number.POSITIVE_INFINITY) >= info.before.length &&
    (when.receiver ?? info.receiver) === info.receiver &&
    (when.role ?? info.role) === info.role &&
    (when.task === undefined || patternOf(when.task).test(info.task)) &&
    (when.type ?? type) === type
  );
}

/** Any text where there is a star. */
const patternOf = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .split("*")
      .map((part) => RegExp.escape(part))
      .join(".*")}$`,
    "su",
  );

/** What a rule says, as a decision. */
export function decisionOf({ name, then, reason }: FailureRuleInfo): Decision {
  const why = reason ?? `The rule "${name}" says so.`;
  if ("retry" in then) return { decision: "retry", reason: why, ...then.retry };
  if ("reroute" in then) return { decision: "reroute", reason: why, to: then.reroute };
  if ("ask" in then) return { decision: "ask", reason: why, to: then.ask };
  return { decision: "abort", reason: why };
}
