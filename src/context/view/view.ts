/**
 * Types of a view: what one receiver gets of a handoff, selected and rendered for that receiver within its
 * budget. What did not fit is listed, what is stale is marked, and what is missing is flagged. A view is
 * stored as a recipe on the delivery (which records, how much of each), with the digest of the text: records
 * never change, so the same text can be rendered again and nothing is stored twice.
 */
import type { DetailLevel, ViewStrategy } from "../../envelope/schema.ts";
import type { ViewGap } from "../../memory/view-gap.ts";
import type { Section } from "../../profiles/view-parts.ts";

/** The token budget of a view, and how precisely it is counted. */
export interface ViewBudget {
  readonly tokens: number;
  /** Its source: the call, the envelope, the role's profile, the receiver's window, or the default. */
  readonly from: "call" | "envelope" | "profile" | "window" | "default";
  /** The encoding that counts, such as o200k_base. */
  readonly tokenizer: string;
  /** False if the tokenizer of the receiver's model is not published, so that the count is an estimate. */
  readonly exact: boolean;
  /** Share of the budget that is reserved because the count is an estimate; 0 if it is exact. */
  readonly margin: number;
}

/** Whether a reference is still what it was when it was sent. */
export type Freshness = "fresh" | "stale" | "gone";

/** A record in the view. */
export interface ShownMemory {
  readonly id: string;
  readonly section: Section;
  readonly level: DetailLevel;
  readonly tokens: number;
  /** Id of the referenced record; present if this one superseded it. */
  readonly insteadOf?: string;
  /** Present for references. */
  readonly freshness?: Freshness;
}

/** A report of an earlier attempt or handoff in the view. */
export interface ShownEarlier {
  /** Its place: env_…#done[2] in an earlier envelope, dlv_…#attempts[0] of this delivery. */
  readonly id: string;
  /** Its name in the text. */
  readonly label: string;
  readonly tokens: number;
}

/** Why something is not in a view; see `OmittedMemory.why`. */
export const OMISSION_REASONS = ["budget", "earlier", "limit", "log", "said"] as const;

/** A candidate that is not in the view, or only in part. `read` with the id returns it. */
export interface OmittedMemory {
  /** Id of a record, or a place in the envelope: env_…#history[3], env_…#done[0-11]. */
  readonly id: string;
  readonly section: Section;
  /** Tokens that it would take in full. */
  readonly tokens: number;
  /** How much of it is shown, for example an outline of a payload; absent if nothing is. */
  readonly shown?: DetailLevel;
  /**
   * "budget": it did not fit. "earlier": an earlier handoff, of which only the reports are shown. "limit":
   * the role's profile gives it no weight, or too many others come first. "log": a raw conversation or
   * settled reasoning that was not named. "said": the envelope contains it verbatim, or its replacement is
   * already shown for another record.
   */
  readonly why: (typeof OMISSION_REASONS)[number];
}

/**
 * Why a file was not checked. "no_folder": no folder is read for this caller. "outside", "hidden": it is not
 * in that folder, or is a dotfile. "too_large": with the others it has more bytes than are read per call.
 */
export const UNCHECKED_REASONS = [
  "hidden",
  "no_digest",
  "no_folder",
  "not_a_file",
  "outside",
  "too_large",
  "unreadable",
] as const;
export type UncheckedReason = (typeof UNCHECKED_REASONS)[number];

/** A file that the handoff pinned by its digest, as found where the view was composed. */
export interface CheckedArtifact {
  readonly path: string;
  readonly freshness: Freshness | "unchecked";
  /** Present if it was not checked. */
  readonly reason?: UncheckedReason;
}

/** What a section of the view takes of the budget. */
export interface SectionUse {
  readonly section: Section;
  readonly tokens: number;
  readonly shown: number;
  readonly omitted: number;
}

/** A view of an envelope for one receiver. */
export interface View {
  readonly envelope: string;
  /** Version of the envelope's format. */
  readonly version: string;
  readonly task: string;
  readonly receiver: string;
  /** The role it was composed for; absent if there is none. */
  readonly role?: string;
  readonly strategy: ViewStrategy;
  readonly budget: ViewBudget;
  /** The rendered text, ready for a prompt. Stored text is fenced as data. */
  readonly text: string;
  /** The number in the fences of the text: drawn for each view, so that no stored text can contain it. */
  readonly boundary: string;
  /** SHA-256 of the text. */
  readonly digest: string;
  /** Tokens of the text; never more than the budget. */
  readonly tokens: number;
  readonly sections: readonly SectionUse[];
  /** In the order they are shown. */
  readonly shown: readonly ShownMemory[];
  /** In the order they are shown. */
  readonly earlier: readonly ShownEarlier[];
  /** The manifest of what was omitted: every candidate is either shown or listed here. */
  readonly omitted: readonly OmittedMemory[];
  readonly gaps: readonly ViewGap[];
  readonly artifacts: readonly CheckedArtifact[];
  /** References resolved ÷ requested, from 0 to 1. */
  readonly completeness: number;
  /** Share of the candidates' tokens that fit the budget, from 0 to 1. */
  readonly coverage: number;
  /** Tokens used divided by the budget, from 0 to 1. */
  readonly utilisation: number;
}

/** The receiver that a view is composed for. */
export interface ViewReceiver {
  readonly agent: string;
  readonly role?: string | undefined;
  /** The registered model, and its context window in tokens; undefined if unknown. */
  readonly model: string | undefined;
  readonly window: number | undefined;
}
