/**
 * Table of all lint rules (shown in docs/LINT.md), with the short ones; longer rules have their own files.
 */
import { contradictsDecision, repeatsDecision } from "./decision-rules.ts";
import { deprecatedField } from "./deprecated-field.ts";
import { oversize } from "./oversize.ts";
import { repeatsHandoff } from "./repeats-handoff.ts";
import { asksForWork, type LintRule, type RuleName } from "./rule.ts";
import { secret } from "./secret.ts";
import { transcript } from "./transcript.ts";
import { vagueIntent } from "./vague-intent.ts";

const noNextStep: LintRule = {
  level: "warn",
  meaning: "The handoff does not state the receiver's first step",

  read(subject) {
    if (!asksForWork(subject) || subject.letter.next.length > 0) return [];
    return [
      {
        path: "next",
        message: "next: has no step",
        hint: 'Add the first step, next: ["Extract validateToken() into its own file"].',
      },
    ];
  },
};

/** An approval is yes or no and needs no criteria. */
const APPROVAL = "approval";

const noCriteria: LintRule = {
  level: "warn",
  meaning: "The handoff expects no output, or an output without criteria",

  read(subject) {
    if (!asksForWork(subject)) return [];
    const { expects } = subject.letter;
    if (expects.length === 0) {
      return [
        {
          path: "expects",
          message: "expects: has no output",
          hint: 'Add what should be returned, expects: [{ name: "patch", type: "diff", criteria: ["All tests pass"] }].',
        },
      ];
    }
    return expects.flatMap(({ name, type, criteria }, i) =>
      criteria.length > 0 || type === APPROVAL
        ? []
        : [
            {
              path: `expects[${i}].criteria`,
              message: `expects[${i}].criteria: is empty, so it is undefined when "${name}" is acceptable`,
              hint: 'Add criteria that can be checked, criteria: ["All tests pass"].',
            },
          ],
    );
  },
};

/** Every rule by its name. */
export const RULE_TABLE: Readonly<Record<RuleName, LintRule>> = {
  no_next_step: noNextStep,
  no_criteria: noCriteria,
  vague_intent: vagueIntent,
  transcript,
  oversize,
  secret,
  repeats_decision: repeatsDecision,
  contradicts_decision: contradictsDecision,
  deprecated_field: deprecatedField,
  repeats_handoff: repeatsHandoff,
};
