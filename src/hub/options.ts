/**
 * The options of `openHub()` and the checks of those that only a local hub uses. Options shared with the HTTP
 * client are checked in option-checks.ts.
 */

import type { KeyObject } from "node:crypto";
import { resolve } from "node:path";
import { signHead, type WorkspaceHead } from "../archive/heads.ts";
import type { Clock } from "../base/clock.ts";
import type { IdGenerator } from "../base/ids.ts";
import type { Limits } from "../base/limits.ts";
import { signerOf } from "../base/signing-keys.ts";
import type { CoordinateFunction } from "../coordination/failures/proposals.ts";
import type { PolicyInput } from "../envelope/schema.ts";
import type { EnvelopeVersions } from "../envelope/versions.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { SecretModeSchema } from "../memory/redaction/secret-policy.ts";
import type { Embedder } from "../search/embedding/embedder.ts";
import type {
  FilesFolder,
  Processes,
  RouteFunction,
  SecretMode,
  SimilarMemoryMode,
  Summarizer,
} from "../workspace/workspace.ts";
import { filesOption } from "./option-checks.ts";

/**
 * Returns a function that loads the embedder of the options; it is called when the first question is asked.
 */
export function embedderOf({ embedder }: HubOptions): () => Promise<Embedder | undefined> {
  if (embedder === false) return async () => undefined;
  if (typeof embedder === "function") return embedder;
  if (embedder !== undefined) return async () => embedder;
  return async () => (await import("../search/embedding/word-vectors.ts")).bundledWordVectors();
}

/**
 * Options of `openHub()` and `new LocalHub()`. All are optional. Invalid values throw `invalid_input` before
 * a store is opened.
 */
export interface HubOptions {
  /** The workspace to open. Default: "default". */
  readonly workspace?: string;
  /** False: throw if the store does not exist, instead of creating it. Default: true. */
  readonly create?: boolean;
  /** Overrides of `DEFAULT_LIMITS`, for example `{ leaseMs: 120_000 }`. */
  readonly limits?: Partial<Limits>;
  /**
   * How long a session can make no calls before its leases end, in milliseconds, for agents with `lease:
   * "session"`. At most one year. Default: `limits.leaseMs`.
   */
  readonly sessionMs?: number;
  /** The delivery policy of handoffs that have none: retries, timeouts, fallbacks. */
  readonly policy?: PolicyInput;
  /** Returns the receiver of a handoff that names none. Default: the routes of the workspace. */
  readonly route?: RouteFunction;
  /** Decides about failures when no coordinator does. If it returns undefined, the failure rules decide. */
  readonly coordinate?: CoordinateFunction;
  /**
   * Computes vectors for recall: `httpEmbedder()`, a custom embedder, or false for search by words only.
   * Default: the bundled word vectors.
   */
  readonly embedder?: Embedder | (() => Promise<Embedder>) | false;
  /**
   * What `remember` does about similar memories that exist: "report" returns them, "refuse" throws
   * `already_known`. Default: "ignore", because the search costs more than the append.
   */
  readonly known?: SimilarMemoryMode;
  /**
   * What happens to keys, passwords and tokens in input: "redact" (default) replaces them, "refuse" throws
   * `secret_found`, "allow" stores them. The stricter of this option and the setting of the workspace
   * applies.
   */
  readonly secrets?: SecretMode;
  /**
   * Summarizes long records that have no summary: `httpSummarizer()` or a custom function. Default: extracts
   * sentences from the record.
   */
  readonly summarizer?: Summarizer;
  /**
   * The folder of files that handoffs can reference as artifacts. Default: the current folder. False: none.
   */
  readonly files?: string | false;
  /**
   * Ed25519 private key (PEM or KeyObject) that signs the heads of this hub (`hub.archive.head()`). Default:
   * heads are not signed.
   */
  readonly headKey?: string | KeyObject;
  /** HTTP only: the access token. Default: the environment variable BATON_TOKEN. */
  readonly token?: string;
  /**
   * HTTP only: sends the token over http:// also to other machines, where it can be read on the way; for
   * networks that encrypt by themselves. Default: the environment variable BATON_ALLOW_INSECURE_HTTP=1.
   */
  readonly allowInsecure?: boolean;
  /** HTTP only: how long to retry while the hub is unreachable, in milliseconds. Default: 30,000. */
  readonly outageMs?: number;
  /** HTTP only: a function that sends requests in place of the network, for tests. */
  readonly fetch?: (request: Request) => Response | Promise<Response>;
  /** Time source, for tests and replays. Default: the system clock. */
  readonly clock?: Clock;
  /** Id generator, for tests and replays. Default: random ids. */
  readonly ids?: IdGenerator;
  /** Random number source in [0, 1), for tests and replays. Default: `Math.random`. */
  readonly random?: () => number;
  /** Reports which processes are alive, for tests and replays. Default: the operating system. */
  readonly processes?: Processes;
  /** Supported envelope versions, for tests of upgrades. Default: the versions of this release. */
  readonly versions?: EnvelopeVersions;
}

/** Returns what signs the heads; undefined without a key. Throws `invalid_input`. */
export function headSigner({ headKey }: HubOptions): HeadSigner | undefined {
  if (headKey === undefined) return undefined;
  signerOf(headKey);
  return (head) => signHead(head, headKey);
}

export type HeadSigner = (head: WorkspaceHead) => WorkspaceHead;

/** Returns the `secrets` option, checked before a store is opened. Throws `invalid_input`. */
export function secretMode({ secrets }: HubOptions): SecretMode | undefined {
  return parseOrThrow(SecretModeSchema.optional(), secrets, {
    code: "invalid_input",
    what: "The option",
    prefix: "secrets",
  });
}

/** Returns the folder from which artifacts are read, or undefined if there is none. */
export function filesFolder(options: HubOptions): FilesFolder | undefined {
  const folder = filesOption(options);
  return folder === undefined ? undefined : { path: resolve(folder), dotfiles: true };
}
