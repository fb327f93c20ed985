/** The options of a hub. Those that the HTTP client takes too are checked in option-checks.ts. */
import { resolve } from "node:path";
import type { Clock } from "../base/clock.ts";
import type { IdGenerator } from "../base/ids.ts";
import type { Limits } from "../base/limits.ts";
import type { CoordinateFunction } from "../coordination/failures/proposals.ts";
import type { PolicyInput } from "../envelope/schema.ts";
import type { EnvelopeVersions } from "../envelope/versions.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { SecretModeSchema } from "../memory/redaction/secret-policy.ts";
import type { Embedder } from "../search/embedding/embedder.ts";
import type {
  Processes,
  RouteFunction,
  SecretMode,
  SimilarMemoryMode,
  Summarizer,
} from "../workspace/workspace.ts";
import { filesOption } from "./option-checks.ts";

/** Loaded when the first question is asked. */
export function embedderOf({ embedder }: HubOptions): () => Promise<Embedder | undefined> {
  if (embedder === false) return async () => undefined;
  if (typeof embedder === "function") return embedder;
  if (embedder !== undefined) return async () => embedder;
  return async () => (await import("../search/embedding/word-vectors.ts")).bundledWordVectors();
}

export interface HubOptions {
  /** Default: "default". */
  readonly workspace?: string;
  /** False: throws if the store does not exist, instead of creating it. Default: true. */
  readonly create?: boolean;
  readonly limits?: Partial<Limits>;
  /**
   * How long a session may be silent before its leases end, in milliseconds, for agents with `lease:
   * "session"`. Default: `limits.leaseMs`.
   */
  readonly sessionMs?: number;
  /** The delivery policy of handoffs that have none: retries, timeouts, fallbacks. */
  readonly policy?: PolicyInput;
  /** Computes the receiver of a handoff that names none. */
  readonly route?: RouteFunction;
  /** Decides about failures where no coordinator does; undefined leaves it to the rules. */
  readonly coordinate?: CoordinateFunction;
  /**
   * Computes vectors for recall: `httpEmbedder()`, your own, or false for words only. Default: the bundled
   * word vectors.
   */
  readonly embedder?: Embedder | (() => Promise<Embedder>) | false;
  /**
   * Whether `remember` searches for the same knowledge first: "report" returns it, "refuse" throws. Default:
   * "ignore", because a search costs more than the append.
   */
  readonly known?: SimilarMemoryMode;
  /**
   * What happens to keys, passwords and tokens in input: "redact" (the default) replaces them, "refuse"
   * throws, "allow" stores them. The stricter of this and the workspace's setting applies.
   */
  readonly secrets?: SecretMode;
  /**
   * Summarizes long records that have no summary: `httpSummarizer()`, or your own. Default: extracts
   * sentences of the record.
   */
  readonly summarizer?: Summarizer;
  /** The folder of files that handoffs name as artifacts. Default: the current one; false: none. */
  readonly files?: string | false;
  /** HTTP only: the access token. Default: BATON_TOKEN. */
  readonly token?: string;
  /** HTTP only: how long to retry while the hub is unreachable, in milliseconds. Default: 30 s. */
  readonly patienceMs?: number;
  /** HTTP only: sends requests instead of the network. */
  readonly fetch?: (request: Request) => Response | Promise<Response>;
  /** For tests and replays. */
  readonly clock?: Clock;
  readonly ids?: IdGenerator;
  readonly random?: () => number;
  readonly processes?: Processes;
  readonly versions?: EnvelopeVersions;
}

/** Checked before a store is opened for it. */
export function secretMode({ secrets }: HubOptions): SecretMode | undefined {
  return parseOrThrow(SecretModeSchema.optional(), secrets, {
    code: "invalid_input",
    what: "The option",
    prefix: "secrets",
  });
}

/** Returns the folder whose files are read for artifacts, as an absolute path; undefined: none. */
export function filesFolder(options: HubOptions): string | undefined {
  const folder = filesOption(options);
  return folder === undefined ? undefined : resolve(folder);
}
