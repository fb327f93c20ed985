/** What the lint finds in a handoff that was just sent: in what it says, without querying the store. */

import type { Envelope } from "../../envelope/schema.ts";
import type { SecretAt } from "../../envelope/secrets-within.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { letterOfEnvelope } from "./letter.ts";
import type { AllLintRules, Finding, Repeat } from "./rule.ts";
import { findingsIn } from "./run.ts";

/** Finds when it is called: most senders never ask. `secrets`: what was taken out of it before. */
export type LintSent = (secrets: readonly SecretAt[]) => readonly Finding[];

export function lintSent(
  workspace: Workspace,
  rules: AllLintRules,
  envelope: Envelope,
  repeats: readonly Repeat[],
): LintSent {
  return (redacted) => {
    if (envelope.redacted !== undefined) return []; // Sent before with its key, and redacted since.
    const letter = letterOfEnvelope(envelope);
    const subject = { workspace, letter, to: envelope.to, given: envelope, redacted, repeats };
    return findingsIn(subject, rules);
  };
}
