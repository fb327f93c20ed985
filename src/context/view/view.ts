/**
 * A view: what one receiver gets of a handoff. Selected and rendered for the actual receiver, within
 * its budget; what did not fit is listed, what went stale is said, what is missing is flagged. Kept as
 * a recipe on the delivery (which records, how much of each), with the digest of the text: records
 * never change, so the same text can be rendered again, and nothing is stored twice.
 */
import type { DetailLevel, ViewStrategy } from "../../envelope/schema.ts";
import type { ViewGap } from "../../memory/view-gap.ts";
import type { Section } from "../../profiles/view-parts.ts";

/** How many tokens there are, and how well they can be counted. */
export interface ViewBudget {
  readonly tokens: number;
  /** Who said so: the call, the envelope, the role's profile, the receiver's window, or nobody. */
  readonly from: "call" | "envelope" | "profile" | "window" | "default";
  /** The encoding that counts, such as o200k_base. */
  readonly tokenizer: string;
  /** False: the receiver's model counts by a tokenizer nobody published. */
  readonly exact: boolean;
  /** How much of the budget is kept free because the count is an estimate; 0 when it is exact. */
  readonly margin: number;
}

/** Whether what was referred to is still what it was when it was sent. */
export type Freshness = "fresh" | "stale" | "gone";

/** A record in the view. */
export interface ShownMemory {
  readonly id: string;
  readonly section: Section;
  readonly level: DetailLevel;
  readonly tokens: number;
  /** The record that was referred to, where this one holds in its place. */
  readonly insteadOf?: string;
  /** Of a reference. */
  readonly freshness?: Freshness;
}

/** What earlier attempts or handoffs reported and the view shows. */
export interface ShownEarlier {
  /** Where it stands: env_…#done[2] in an earlier envelope, dlv_…#attempts[0] of this delivery. */
  readonly id: string;
  /** What the text calls it. */
  readonly label: string;
  readonly tokens: number;
}

export const OMISSION_REASONS = ["budget", "earlier", "limit", "log", "said"] as const;

/** Something that was considered and is not in the view, or not all of it. `read` with the id returns it. */
export interface OmittedMemory {
  /** A record's, or where it stands in the envelope: env_…#history[3], env_…#done[0-11]. */
  readonly id: string;
  readonly section: Section;
  /** What it would take to show it in full. */
  readonly tokens: number;
  /** How much of it is shown, where that is not nothing: an outline of a payload, for instance. */
  readonly shown?: DetailLevel;
  /**
   * There was no room; it is an earlier handoff, of which only what was reported is shown; the role's profile
   * gives it no weight, or too many others come first; it is a conversation as it went, or
   * reasoning that is settled, which nobody has named; or it is said already: by the envelope word for
   * word, or by what holds in its place and is shown for another.
   */
  readonly why: (typeof OMISSION_REASONS)[number];
}

/** A file that the handoff pinned by its digest, as it is where this was composed. */
export interface CheckedArtifact {
  readonly path: string;
  /** "unchecked": it is not at hand here, or no digest was given. */
  readonly freshness: Freshness | "unchecked";
}

/** What a part of the view takes of the budget. */
export interface SectionUse {
  readonly section: Section;
  readonly tokens: number;
  readonly shown: number;
  readonly omitted: number;
}

export interface View {
  readonly envelope: string;
  /** Of the envelope. */
  readonly version: string;
  readonly task: string;
  readonly receiver: string;
  /** The role it was composed for; absent for none. */
  readonly role?: string;
  readonly strategy: ViewStrategy;
  readonly budget: ViewBudget;
  /** Ready to paste. Stored text is fenced as data. */
  readonly text: string;
  /** SHA-256 of the text. */
  readonly digest: string;
  /** Never more than the budget. */
  readonly tokens: number;
  readonly sections: readonly SectionUse[];
  /** In the order they are shown. */
  readonly shown: readonly ShownMemory[];
  /** In the order they are shown. */
  readonly earlier: readonly ShownEarlier[];
  /** The omission manifest: nothing vanishes. */
  readonly omitted: readonly OmittedMemory[];
  readonly gaps: readonly ViewGap[];
  readonly artifacts: readonly CheckedArtifact[];
  /** References resolved ÷ requested, from 0 to 1. */
  readonly completeness: number;
  /** What the budget let in ÷ what was considered, in tokens, from 0 to 1. */
  readonly coverage: number;
  /** Tokens used ÷ tokens there are, from 0 to 1. */
  readonly utilisation: number;
}

/** Whom a view is made for. */
export interface ViewReceiver {
  readonly agent: string;
  readonly role?: string | undefined;
  /** The registered model and its window, in tokens; undefined when nothing is known of them. */
  readonly model: string | undefined;
  readonly window: number | undefined;
}
