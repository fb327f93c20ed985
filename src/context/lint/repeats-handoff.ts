/**
 * Lint rule `repeats_handoff`: reports an open or completed handoff of the same task or with the same intent,
 * because work done twice costs twice, and two results can disagree.
 */
import type { LintRule, Remark, Repeat } from "./rule.ts";

/** Reports earlier handoffs of the same work, whichever agent sent them. */
export const repeatsHandoff: LintRule = {
  level: "warn",
  meaning:
    "An open or completed handoff has the same task, or asks for the same work under another task",

  read: ({ repeats = [] }) => remarksOn(repeats),
};

/** Returns one remark per repeated handoff. */
export const remarksOn = (repeats: readonly Repeat[]): Remark[] => repeats.map(remarkOn);

function remarkOn({ delivery, state, by, holder, at, why }: Repeat): Remark {
  const path = why === "task" ? "task" : "intent";
  const isDone = state === "completed";
  const how = isDone ? `completed by ${holder}` : `${state}, sent by ${by}`;
  return {
    path,
    message: `${path}: repeats ${delivery} (${how} on ${new Date(at).toISOString().slice(0, 10)})`,
    hint: isDone
      ? `Read the result of ${delivery} first, and cancel this handoff if nothing is left to do.`
      : `Wait for ${delivery}, or cancel one of the two.`,
  };
}
