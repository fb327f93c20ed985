/** Types of the lint: rules, what they read, and their findings. */

import type { DetectedSecret } from "../../envelope/mask-secrets.ts";
import type { Envelope } from "../../envelope/schema.ts";
import type { DeliveryState } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** Names of all rules, in the order they run. */
export const RULE_NAMES = [
  "no_next_step",
  "no_criteria",
  "vague_intent",
  "transcript",
  "oversize",
  "secret",
  "repeats_decision",
  "contradicts_decision",
  "deprecated_field",
  "repeats_handoff",
] as const;
/** Name of a lint rule. */
export type RuleName = (typeof RULE_NAMES)[number];

/**
 * Mode of a rule in a workspace: "refuse" stops a handoff, "warn" reports findings, "off" disables the rule.
 */
export const RULE_MODES = ["refuse", "warn", "off"] as const;
/** Mode of a lint rule in a workspace. */
export type RuleMode = (typeof RULE_MODES)[number];
/** The mode of every rule. */
export type AllLintRules = Readonly<Record<RuleName, RuleMode>>;

/** "error": the handoff should not be sent like this. "warn": it could be better. */
export type FindingLevel = "warn" | "error";

/** What a rule found. */
export interface Finding {
  readonly rule: RuleName;
  readonly level: FindingLevel;
  /** Path in the handoff: `next[2]`; empty for the whole handoff. */
  readonly path: string;
  readonly message: string;
  /** How to fix it. */
  readonly hint: string;
}

/** A finding without rule and level, which its rule adds. */
export type Remark = Pick<Finding, "path" | "message" | "hint">;

/** The content of a handoff in the form of the envelope, whether it was sent or not. */
export type HandoffContent = Pick<
  Envelope,
  | "action"
  | "artifacts"
  | "blocked"
  | "budget"
  | "constraints"
  | "decisions"
  | "doNotRedo"
  | "done"
  | "expects"
  | "history"
  | "intent"
  | "next"
  | "payload"
  | "state"
  | "strategy"
> & {
  readonly refs: readonly { readonly id: string; readonly summary?: string | undefined }[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly task: string | undefined;
  /** Items that it releases from the ledger. */
  readonly released?: readonly { readonly id: string }[] | undefined;
};

/** An earlier handoff that a new one repeats. */
export interface Repeat {
  readonly delivery: string;
  readonly envelope: string;
  readonly task: string;
  /** An open state, or "completed". */
  readonly state: DeliveryState;
  /** Id of the sender. */
  readonly by: string;
  /** The agent that works on it or completed it; absent while it waits. */
  readonly holder?: string;
  /** When it was completed, or sent if it is open; in milliseconds since 1970. */
  readonly at: number;
  /** "task": it has the same task. "work": it has the same intent under another task. */
  readonly why: "task" | "work";
}

/** A handoff to lint. */
export interface LintSubject {
  readonly workspace: Workspace;
  readonly letter: HandoffContent;
  /** Its receiver; undefined if neither the sender nor a route names one. */
  readonly to: Envelope["to"] | undefined;
  /** The handoff as it was written, including deprecated fields. */
  readonly given: unknown;
  /** Secrets that were redacted from it. */
  readonly redacted?: readonly DetectedSecret[] | undefined;
  /** The received envelope; absent unless work is handed on. */
  readonly before?: Envelope | undefined;
  /** Earlier handoffs of the same work. */
  readonly repeats?: readonly Repeat[] | undefined;
}

/** A lint rule: reads the handoff, queries the store about it, or both. */
export interface LintRule {
  readonly level: FindingLevel;
  /** Mode in a workspace that has not set it; default: "warn". */
  readonly binding?: RuleMode;
  /** What the rule reports, for people. */
  readonly meaning: string;
  /** Checks the handoff alone; runs with every send. */
  readonly read?: (subject: LintSubject) => readonly Remark[];
  /** Queries the store; runs when lint is called, and with a send only if the rule is binding. */
  readonly query?: (subject: LintSubject) => Promise<readonly Remark[]>;
}

/** Returns whether a handoff asks for work; publications and reports do not. */
export const asksForWork = ({ letter, to }: LintSubject): boolean =>
  to?.kind !== "channel" && letter.action !== "completed" && letter.action !== "failed";
