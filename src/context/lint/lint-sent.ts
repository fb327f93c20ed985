/** What the lint finds in a handoff that was just sent: in what it says, without querying the store. */

import type { DetectedSecret } from "../../envelope/mask-secrets.ts";
import type { Envelope } from "../../envelope/schema.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { contentOfEnvelope } from "./handoff-content.ts";
import type { AllLintRules, Finding, Repeat } from "./rule.ts";
import { runLocalRules } from "./run-rules.ts";

/** Finds when it is called: most senders never ask. `secrets`: what was taken out of it before. */
export type LazyFindings = (secrets: readonly DetectedSecret[]) => readonly Finding[];

export function lintSent(
  workspace: Workspace,
  rules: AllLintRules,
  envelope: Envelope,
  repeats: readonly Repeat[],
): LazyFindings {
  return (redacted) => {
    if (envelope.redacted !== undefined) return []; // Sent before with its key, and redacted since.
    const letter = contentOfEnvelope(envelope);
    const subject = { workspace, letter, to: envelope.to, given: envelope, redacted, repeats };
    return runLocalRules(subject, rules);
  };
}
