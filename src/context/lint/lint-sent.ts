/** Lints a handoff that was just sent, by its content alone, without querying the store. */

import type { DetectedSecret } from "../../envelope/mask-secrets.ts";
import type { Envelope } from "../../envelope/schema.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { contentOfEnvelope } from "./handoff-content.ts";
import type { AllLintRules, Finding, Repeat } from "./rule.ts";
import { runLocalRules } from "./run-rules.ts";

/**
 * Computes the findings when called, since most senders never read them. `secrets`: what was redacted before.
 */
export type LazyFindings = (secrets: readonly DetectedSecret[]) => readonly Finding[];

/** Returns a function that computes the findings of a sent envelope. */
export function lintSent(
  workspace: Workspace,
  rules: AllLintRules,
  envelope: Envelope,
  repeats: readonly Repeat[],
): LazyFindings {
  return (redacted) => {
    if (envelope.redacted !== undefined) return []; // Sent before with the same key, and redacted since.
    const letter = contentOfEnvelope(envelope);
    const subject = { workspace, letter, to: envelope.to, given: envelope, redacted, repeats };
    return runLocalRules(subject, rules);
  };
}
