/**
 * The context of every operation: the workspace, its store and settings, and which agent acts on which
 * branch. The hub creates it and passes it to the modules.
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
import type { DecisionTurn } from "./decision-order.ts";

/** Identifies this process and detects processes that have ended. Injected, like the clock. */
export interface Processes {
  /** Bound to leases; empty if leases expire by time only. */
  readonly self: string;
  /** Returns true only if the process has certainly ended. Never throws. */
  isGone(process: string): boolean;
  /** Returns true only if the process is certainly running. Default: never. */
  isRunning?(process: string): boolean;
}

/** What is known about a handoff without a receiver, to find a route. */
export interface RouteInput {
  readonly from: string;
  readonly task: string | undefined;
  readonly action: string;
  /** Type of the payload. */
  readonly payload: string | undefined;
  /** Outcome of the previous work, if its holder named one. */
  readonly result: string | undefined;
}

/** Computes the next receiver; undefined leaves the choice to the workspace's routes. */
export type RouteFunction = (
  leaving: RouteInput,
) => string | undefined | Promise<string | undefined>;

/** What an embedder contributes to a query (memory/recall/embedding-service.ts). */
export interface QueryMeaning {
  /** The vector of the query; undefined if there is none. */
  readonly meant: QueryVector | undefined;
  /** Returns words similar in meaning. */
  readonly near: (word: string) => readonly SimilarWord[];
  /** The reason if there is nothing to compare. */
  readonly state: string;
}

/** How many records an embedder has processed. */
export interface EmbedProgress {
  readonly model: string;
  /** Embedded records, and all records. */
  readonly done: number;
  readonly total: number;
}

/** Embeds queries and records with the embedder of the hub. */
export interface EmbeddingService {
  /** Embeds a query; returns no vector if `wanted` is false. */
  ask(workspace: Workspace, question: string, wanted: boolean): Promise<QueryMeaning>;
  /** Embeds all records that have no vector yet; undefined if the hub has no embedder. */
  embedAll(
    workspace: Workspace,
    onProgress?: (progress: EmbedProgress) => void,
  ): Promise<EmbedProgress | undefined>;
}

/**
 * Shortens texts with a model. Not used by default; a hub can be opened with one
 * (context/detail/summary.ts).
 */
export interface Summarizer {
  /** Identifies the model that made a summary. */
  readonly model: string;
  /** Returns a summary of at most `tokens` tokens. */
  summarize(
    text: string,
    options: { readonly tokens: number; readonly signal?: AbortSignal | undefined },
  ): Promise<string>;
}

/**
 * What to do if a new memory repeats a known one: nothing, report it, or refuse to write it
 * (memory/recall/remember-checked.ts).
 */
export type SimilarMemoryMode = "ignore" | "report" | "refuse";

/**
 * What to do about secrets in the input, from the mildest to the strictest
 * (memory/redaction/secret-policy.ts).
 */
export const SECRET_MODES = ["allow", "redact", "refuse"] as const;
export type SecretMode = (typeof SECRET_MODES)[number];

/**
 * What coordination does about deliveries (coordination/follow-up-handlers.ts). Called when a delivery is settled or a
 * policy is carried out.
 */
export interface FollowUpHandlers {
  /**
   * Returns true if a coordinator decides about the delivery when it is given up; otherwise it only becomes a
   * dead letter.
   */
  isCoordinated(workspace: Workspace, sealed: CoordinationFields): Promise<boolean>;
  /**
   * Reports to the coordinator that a delivery is given up. Called before it becomes a dead letter, so that a
   * crash cannot hide the failure. Returns the delivery id of the report.
   */
  report(workspace: Workspace, due: DeliveryWithEnvelopeRow, ended: GiveUpDetails): Promise<string>;
  /** Handles a report that was returned to the hub or is no longer true. */
  coordinate(workspace: Workspace, report: string): Promise<void>;
  /** Handles a task that waits for others: it can start now, or it never will. */
  openWaiting(workspace: Workspace, due: DeliveryWithEnvelopeRow): Promise<void>;
  /** Handles the end of a delivery of a queued task, which may end the task. */
  ended(workspace: Workspace, delivery: DeliveryRow): Promise<void>;
  /** Called periodically: completes the end of a task that a crashed process left half done. */
  tend(workspace: Workspace): Promise<void>;
}

/** The fields of an envelope that determine whether a coordinator decides about it. */
export type CoordinationFields = Pick<Envelope, "failure" | "from" | "policy" | "queued">;

/** How a delivery comes to be given up. */
export interface GiveUpDetails {
  /** Number of the last attempt. */
  readonly attempt: number;
  /** How that attempt ended, if that is not recorded yet. */
  readonly ends?: Move["ends"] | undefined;
  /** True if the deadline passed. */
  readonly late?: true | undefined;
}

/** A workspace as seen by one agent on one branch. */
export interface Workspace {
  readonly name: string;
  /** Shared by all views of the workspace (per agent and branch); caches use it as their key. */
  readonly root: object;
  /** The branch that is read and written. */
  readonly branch: string;
  /** The reader, which determines the private records that are visible. */
  readonly reader: Reader;
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  /**
   * Returns a number from 0 (inclusive) to 1 (exclusive), for jitter. Injected, so that a seed replays a run.
   */
  readonly random: () => number;
  readonly processes: Processes;
  readonly limits: Limits;
  readonly payloads: PayloadTypes;
  /** The envelope versions that are read, and the one that is written. */
  readonly versions: EnvelopeVersions;
  /** Default policy for handoffs without one. */
  readonly policy: PolicyInput | undefined;
  readonly route: RouteFunction | undefined;
  /** What coordination does about deliveries. */
  readonly duties: FollowUpHandlers;
  /** The place among the decisions that are made together, while one of them is made. */
  readonly turn?: DecisionTurn;
  /** Embeds queries and records. */
  readonly meaning: EmbeddingService;
  /** The folder with the files that handoffs reference; undefined if files are not read. */
  readonly files: FilesFolder | undefined;
  /** What to do if a new memory repeats a known one, if the call does not specify it. */
  readonly known: SimilarMemoryMode;
  /** What to do about secrets; undefined if the workspace setting applies. */
  readonly secrets: SecretMode | undefined;
  /** Summarizes records that have no summary; without it, their first sentences are used. */
  readonly summarizer: Summarizer | undefined;
}

/** A folder whose files are compared with the artifacts of handoffs. */
export interface FilesFolder {
  /** Absolute. */
  readonly path: string;
  /** False: files and folders whose name begins with a dot are never opened. */
  readonly dotfiles: boolean;
}

/** Returns the workspace for decisions of the hub: on the main branch and visible to every agent. */
export const onMainBranch = (workspace: Workspace): Workspace => ({
  ...workspace,
  branch: MAIN_BRANCH,
  reader: ANONYMOUS_READER,
});
