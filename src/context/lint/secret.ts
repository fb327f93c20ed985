/**
 * A secret in what is handed over: an envelope is for good, everybody may read it, and it goes to
 * models. Told by kind and place, never by itself, not even where it is the name of a field. Of a
 * handoff that is being sent, what was taken out of it before counts as well.
 */
import { type DetectedSecret, maskSecrets } from "../../envelope/mask-secrets.ts";
import type { LintRule, Remark } from "./rule.ts";

const HINT =
  "Take it out and say where it is kept (a vault, a variable); if it was stored before, redact it and change it.";

export const secret: LintRule = {
  level: "error",
  meaning: "A key, a password or a token stands in it",

  read: ({ letter, redacted = [] }) =>
    [...redacted, ...maskSecrets<unknown>(letter).secrets]
      .sort((a, b) => (a.path < b.path ? -1 : 1))
      .map(remarkOn),
};

const remarkOn = ({ kind, path }: DetectedSecret): Remark => ({
  path,
  message: `${path}: looks like a secret (${kind})`,
  hint: HINT,
});
