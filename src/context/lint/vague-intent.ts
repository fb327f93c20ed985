/**
 * An intent that names nothing: one word, or only words that fit every task. Whoever gets it has to ask
 * what is meant. Kept modest: "Refactor auth" is short and says what about.
 */
import { STOP_WORDS } from "../../search/stop-words.ts";
import { wordsOf } from "../../search/words.ts";
import type { LintRule } from "./rule.ts";

/** They fit every task, and so tell of none. */
const GENERIC_WORDS = new Set(
  `bug bugs change changes complete continue do everything finish fix go handle help improve issue
  issues job keep look make need next ok please problem problems proceed resume rest something start
  step steps stuff sure task tasks thing things todo update want work working`.split(/\s+/),
);

/** At least so many words say what is wanted of what. */
const MIN_WORDS = 2;

export const vagueIntent: LintRule = {
  level: "warn",
  meaning: "The intent is one word, or names nothing that the work is about",

  read({ letter: { intent } }) {
    if (!isVagueIntent(intent)) return [];
    return [
      {
        path: "intent",
        message: "intent: does not say what it is about",
        hint: 'Say what is wanted of what, as in "Fix the login form: it accepts an empty password".',
      },
    ];
  },
};

export function isVagueIntent(intent: string): boolean {
  const words = wordsOf(intent).filter((word) => !STOP_WORDS.has(word));
  const telling = words.filter((word) => !GENERIC_WORDS.has(word));
  return words.length < MIN_WORDS || telling.length === 0;
}
