/**
 * Failure rules: which decision the hub makes about which failures, stored in the workspace. Of the matching
 * rules, the one with the most conditions applies first; with equally many, the first by name. A rule that
 * cannot be carried out is skipped.
 */

import * as z from "zod";
import { matchesWildcards } from "../../base/globs.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { Reason } from "../../delivery/settle/reason.ts";
import { Address, AgentName, FAILURE_CLASSES, Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { changeSetting } from "../../memory/audit/change-setting.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import { entriesOf, entryValue } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Decision } from "./decision.ts";
import type { FailureInfo } from "./info.ts";

const RULE = "failure-rule";

const Word = z.string().min(1).max(FORMAT_LIMITS.nameLength);

/** A failure rule: conditions (`when`, all of which must match) and a decision (`then`). */
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
      /** At most this many earlier decisions about the same delivery; 0: only the first time. */
      decided: z.int().min(0).optional(),
      /** The receiver that failed: an agent or `role:…`. */
      receiver: Address.optional(),
      /** The role of the receiver that failed. */
      role: Name.optional(),
      /** The name of a task; `*` matches any text. */
      task: Word.optional(),
      type: Word.optional(),
    })
    .default({}),
});

export type FailureRule = z.input<typeof FailureRuleSchema>;
export type FailureRuleInfo = z.output<typeof FailureRuleSchema> & { readonly name: string };

const ruleName = (name: unknown): string =>
  parseOrThrow(Name, name, { code: "invalid_input", what: "The rule's name", prefix: "name" });

/** Creates or replaces a failure rule. Throws `invalid_input`. */
export async function setRule(
  workspace: Workspace,
  name: string,
  rule: FailureRule,
): Promise<void> {
  const redacted = await redactSecrets(workspace, { name, rule });
  const value = parseOrThrow(FailureRuleSchema, redacted.rule, {
    code: "invalid_input",
    what: "The rule",
  });
  await changeSetting(workspace, { kind: RULE, name: ruleName(redacted.name) }, () => ({ value }));
}

/** Deletes a failure rule. Does nothing if it does not exist. */
export async function deleteRule(workspace: Workspace, name: string): Promise<void> {
  await changeSetting(workspace, { kind: RULE, name: ruleName(name) }, () => ({
    value: undefined,
  }));
}

/** Returns all failure rules in the order of their names. */
export async function listRules(workspace: Workspace): Promise<FailureRuleInfo[]> {
  const all: FailureRuleInfo[] = [];
  for await (const entry of entriesOf(workspace, RULE)) {
    const value = entryValue<z.output<typeof FailureRuleSchema>>(entry);
    if (value !== undefined) all.push({ name: entry.name, ...value });
  }
  return all;
}

/** Returns the rules that match a failure, in the order they apply. */
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
    (when.task === undefined || matchesWildcards(when.task, info.task)) &&
    (when.type ?? type) === type
  );
}

/** Returns the decision of a rule. */
export function decisionOf({ name, then, reason }: FailureRuleInfo): Decision {
  const why = reason ?? `Decided by the rule "${name}".`;
  if ("retry" in then) return { decision: "retry", reason: why, ...then.retry };
  if ("reroute" in then) return { decision: "reroute", reason: why, to: then.reroute };
  if ("ask" in then) return { decision: "ask", reason: why, to: then.ask };
  return { decision: "abort", reason: why };
}
