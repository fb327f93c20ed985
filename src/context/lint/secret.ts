/**
 * Lint rule `secret`: an envelope is permanent, readable by any agent, and sent to models. A finding gives
 * kind and path of a secret, never its value, not even if it is the name of a field. For a handoff that is
 * being sent, secrets redacted from it before are reported as well.
 */
import { type DetectedSecret, maskSecrets } from "../../envelope/mask-secrets.ts";
import type { LintRule, Remark } from "./rule.ts";

const HINT =
  "Remove it and refer to where it is kept (a vault, a variable); if it was stored before, redact and rotate it.";

/** Reports keys, passwords and tokens. */
export const secret: LintRule = {
  level: "error",
  meaning: "The handoff contains a key, a password or a token",

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
