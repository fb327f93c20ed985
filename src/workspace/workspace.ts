/**
 * A workspace: its store, what every operation in it needs, and who acts in it on which branch. Made by
 * the hub, passed to rooms.
 */
import type { Clock } from "../base/clock.ts";
import type { IdGenerator } from "../base/ids.ts";
import type { Limits } from "../base/limits.ts";
import type { PayloadTypes } from "../envelope/payload-types.ts";
import type { Envelope, PolicyInput } from "../envelope/schema.ts";
import type { EnvelopeVersions } from "../envelope/versions.ts";
import type { SimilarWord } from "../search/query.ts";
import type { DeliveryRow } from "../store/rows.ts";
import type { QueryVector } from "../store/search.ts";
import type { DeliveryWithEnvelopeRow, Move, Store } from "../store/store.ts";
import { ANONYMOUS_READER, MAIN_BRANCH, type Reader } from "../store/visibility.ts";

/** Which process this is, and which others have ended. Injected, like the clock. */
export interface Processes {
  /** Bound to leases; empty: leases go by time only. */
  readonly self: string;
  /** True only when it is certain. Never throws. */
  isGone(process: string): boolean;
}

/** What is known of a handoff that names no receiver. */
export interface RouteInput {
  readonly from: string;
  readonly task: string | undefined;
  readonly action: string;
  /** The payload's type. */
  readonly payload: string | undefined;
  /** How the work before it ended, when it ended with a word for it. */
  readonly result: string | undefined;
}

/** Computes the next receiver; undefined leaves it to the table of routes. */
export type RouteFunction = (
  leaving: RouteInput,
) => string | undefined | Promise<string | undefined>;

/** What an embedder says to a question (memory/recall/meaning.ts). */
export interface QueryMeaning {
  readonly meant: QueryVector | undefined;
  readonly near: (word: string) => readonly SimilarWord[];
  /** Why there is nothing to compare. */
  readonly state: string;
}

/** How far an embedder has come with the records. */
export interface EmbedProgress {
  readonly model: string;
  readonly done: number;
  readonly total: number;
}

export interface EmbeddingService {
  ask(workspace: Workspace, question: string, wanted: boolean): Promise<QueryMeaning>;
  embedAll(
    workspace: Workspace,
    onProgress?: (progress: EmbedProgress) => void,
  ): Promise<EmbedProgress | undefined>;
}

/** Says a text in fewer words; off unless a hub is given one (context/detail/summarize.ts). */
export interface Summarizer {
  /** Names what made a summary. */
  readonly model: string;
  summarize(
    text: string,
    options: { readonly tokens: number; readonly signal?: AbortSignal | undefined },
  ): Promise<string>;
}

/** Nothing, tell what is known, or refuse to say it again (memory/recall/search-first.ts). */
export type SimilarMemoryMode = "ignore" | "report" | "refuse";

/** What is done about secrets in what is said, from the mildest to the strictest (memory/redaction/secret-policy.ts). */
export const SECRET_MODES = ["allow", "redact", "refuse"] as const;
export type SecretMode = (typeof SECRET_MODES)[number];

/**
 * What coordination does about deliveries (coordination/duties.ts), called by whoever settles one or
 * carries out policies.
 */
export interface FollowUpHandlers {
  /** Whether somebody decides about it when it is given up; else it is parked, and that is all. */
  isCoordinated(workspace: Workspace, sealed: CoordinationFields): Promise<boolean>;
  /**
   * Tells who decides that a delivery is given up: before it is parked, so that no crash hides it.
   * Answers with the delivery of the report.
   */
  report(workspace: Workspace, due: DeliveryWithEnvelopeRow, ended: GiveUpDetails): Promise<string>;
  /** What is to be done about a report now: it lies with the hub itself, or is no longer true. */
  coordinate(workspace: Workspace, report: string): Promise<void>;
  /** A task that waits for others may begin, or never will. */
  openWaiting(workspace: Workspace, due: DeliveryWithEnvelopeRow): Promise<void>;
  /** A delivery of a task in the queue has ended: its task may be over. */
  ended(workspace: Workspace, delivery: DeliveryRow): Promise<void>;
  /** Now and then: whether the end of a task was left half done by a process that died. */
  tend(workspace: Workspace): Promise<void>;
}

/** What of an envelope says whether somebody decides about it. */
export type CoordinationFields = Pick<Envelope, "failure" | "from" | "policy" | "queued">;

/** How a delivery comes to be given up. */
export interface GiveUpDetails {
  /** The try it is given up after. */
  readonly attempt: number;
  /** How that try ended, where that is still to be written down. */
  readonly ends?: Move["ends"] | undefined;
  /** Its deadline passed. */
  readonly late?: true | undefined;
}

export interface Workspace {
  readonly name: string;
  /** What all views of it (an agent's, a branch's) share: what is remembered of it is kept by this. */
  readonly root: object;
  /** The branch that is read and written. */
  readonly branch: string;
  /** Who looks: decides which private records are seen. */
  readonly reader: Reader;
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  /** From 0 (included) to 1 (excluded): jitter. Injected, so that a seed replays a run. */
  readonly random: () => number;
  readonly processes: Processes;
  readonly limits: Limits;
  readonly payloads: PayloadTypes;
  /** The versions of envelopes that are read, and the one that is written. */
  readonly versions: EnvelopeVersions;
  /** How handoffs are tried that say nothing about it. */
  readonly policy: PolicyInput | undefined;
  readonly route: RouteFunction | undefined;
  readonly duties: FollowUpHandlers;
  readonly meaning: EmbeddingService;
  /** The folder whose files are looked into when a handoff names one; undefined: none. */
  readonly files: string | undefined;
  /** What is done about what is known already when something is remembered, unless the call says. */
  readonly known: SimilarMemoryMode;
  /** The hub's own rule about secrets, where it has one. */
  readonly secrets: SecretMode | undefined;
  /** What summarizes records that nobody has summarized; without one their first sentences do. */
  readonly summarizer: Summarizer | undefined;
}

/** The workspace as policy sees it: what it decides is written on the trunk, for everybody. */
export const onMainBranch = (workspace: Workspace): Workspace => ({
  ...workspace,
  branch: MAIN_BRANCH,
  reader: ANONYMOUS_READER,
});
