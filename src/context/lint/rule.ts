/** What a rule of the lint is, what it looks at and what it finds. */

import type { DetectedSecret } from "../../envelope/mask-secrets.ts";
import type { Envelope } from "../../envelope/schema.ts";
import type { DeliveryState } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";

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
export type RuleName = (typeof RULE_NAMES)[number];

/** How a rule counts in a workspace: "refuse" stops a handoff, "warn" reports, "off" finds nothing. */
export const RULE_MODES = ["refuse", "warn", "off"] as const;
export type RuleMode = (typeof RULE_MODES)[number];
export type AllLintRules = Readonly<Record<RuleName, RuleMode>>;

/** "error": it should not be sent like this. "warn": it could be better. */
export type FindingLevel = "warn" | "error";

export interface Finding {
  readonly rule: RuleName;
  readonly level: FindingLevel;
  /** Where: `next[2]`. */
  readonly path: string;
  readonly message: string;
  /** What to write instead. */
  readonly hint: string;
}

/** What a rule says; who it is, and how much it weighs, is known of the rule. */
export type Remark = Pick<Finding, "path" | "message" | "hint">;

/** What a sender says in a handoff, in the form of the envelope, sent or not. */
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
  /** What it takes off the line. */
  readonly released?: readonly { readonly id: string }[] | undefined;
};

/** An earlier handoff that a new one repeats. */
export interface Repeat {
  readonly delivery: string;
  readonly envelope: string;
  readonly task: string;
  /** Open, or completed. */
  readonly state: DeliveryState;
  /** Who sent it. */
  readonly by: string;
  /** The agent that works on it or completed it; absent while it waits. */
  readonly holder?: string;
  /** When it was completed, or else sent. */
  readonly at: number;
  /** "task": of the same task. "work": the same intent under another task. */
  readonly why: "task" | "work";
}

export interface LintSubject {
  readonly workspace: Workspace;
  readonly letter: HandoffContent;
  /** Whom it is for; undefined when neither the sender nor a route says. */
  readonly to: Envelope["to"] | undefined;
  /** As it was written, with fields this version no longer has. */
  readonly given: unknown;
  /** Secrets that were taken out of it when it was said. */
  readonly redacted?: readonly DetectedSecret[] | undefined;
  /** Of work that is handed on: what it was received with. */
  readonly before?: Envelope | undefined;
  /** Earlier handoffs that ask for the same work. */
  readonly repeats?: readonly Repeat[] | undefined;
}

/** A rule reads the handoff, queries the store about it, or both. */
export interface LintRule {
  readonly level: FindingLevel;
  /** How it counts in a workspace that has not set it; "warn" where it is not said. */
  readonly binding?: RuleMode;
  /** What it finds, for people. */
  readonly meaning: string;
  /** Reads the handoff alone: runs with every send. */
  readonly read?: (subject: LintSubject) => readonly Remark[];
  /** Queries the store: runs when lint is called, and at sending only where the rule is binding. */
  readonly query?: (subject: LintSubject) => Promise<readonly Remark[]>;
}

/** News and reports ask for nothing. */
export const asksForWork = ({ letter, to }: LintSubject): boolean =>
  to?.kind !== "channel" && letter.action !== "completed" && letter.action !== "failed";
