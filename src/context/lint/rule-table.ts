/** Every rule of the lint, as a table; docs/LINT.md shows it. The longer ones have a file of their own. */
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
  meaning: "Nothing says what the receiver is to do first",

  read(subject) {
    if (!asksForWork(subject) || subject.letter.next.length > 0) return [];
    return [
      {
        path: "next",
        message: "next: says no step",
        hint: 'Say what comes first, next: ["Extract validateToken() into its own file"].',
      },
    ];
  },
};

/** An approval is a yes or a no: nothing has to be said of how good it is. */
const APPROVAL = "approval";

const noCriteria: LintRule = {
  level: "warn",
  meaning: "No output is asked for, or one without saying when it is good",

  read(subject) {
    if (!asksForWork(subject)) return [];
    const { expects } = subject.letter;
    if (expects.length === 0) {
      return [
        {
          path: "expects",
          message: "expects: asks for no output",
          hint: 'Say what should come back, expects: [{ name: "patch", type: "diff", criteria: ["All tests pass"] }].',
        },
      ];
    }
    return expects.flatMap(({ name, type, criteria }, i) =>
      criteria.length > 0 || type === APPROVAL
        ? []
        : [
            {
              path: `expects[${i}].criteria`,
              message: `expects[${i}].criteria: does not say when "${name}" is good`,
              hint: 'Give it criteria that can be checked, criteria: ["All tests pass"].',
            },
          ],
    );
  },
};

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
