/**
 * Lint rule `vague_intent`: an intent of one word, or of words that match every task. Its receiver has to ask
 * what is meant. The rule is deliberately lenient: "Refactor auth" is short and states its subject.
 */
import { STOP_WORDS } from "../../search/stop-words.ts";
import { wordsOf } from "../../search/words.ts";
import type { LintRule } from "./rule.ts";

/** Words that match every task and therefore describe none. */
const GENERIC_WORDS = new Set(
  `bug bugs change changes complete continue do everything finish fix go handle help improve issue
  issues job keep look make need next ok please problem problems proceed resume rest something start
  step steps stuff sure task tasks thing things todo update want work working`.split(/\s+/),
);

/** Fewest words that can state an action and its subject. */
const MIN_WORDS = 2;

/** Reports intents without a subject. */
export const vagueIntent: LintRule = {
  level: "warn",
  meaning: "The intent is one word, or does not name what the work is about",

  read({ letter: { intent } }) {
    if (!isVagueIntent(intent)) return [];
    return [
      {
        path: "intent",
        message: "intent: does not name what the work is about",
        hint: 'Name action and subject, for example "Fix the login form: it accepts an empty password".',
      },
    ];
  },
};

/** Returns whether an intent has fewer than two words, or only generic ones. */
export function isVagueIntent(intent: string): boolean {
  const words = wordsOf(intent).filter((word) => !STOP_WORDS.has(word));
  const specific = words.filter((word) => !GENERIC_WORDS.has(word));
  return words.length < MIN_WORDS || specific.length === 0;
}
