/** The options of a hub. Those that the HTTP client takes too are checked in option-checks.ts. */
import { resolve } from "node:path";
import type { Clock } from "../base/clock.ts";
import type { Ids } from "../base/ids.ts";
import type { Limits } from "../base/limits.ts";
import type { CoordinateFunction } from "../coordination/failures/proposals.ts";
import type { PolicyInput } from "../envelope/schema.ts";
import type { Versions } from "../envelope/versions.ts";
import { parseOr } from "../envelope/violations.ts";
import { SecretModeSchema } from "../memory/redaction/secret-policy.ts";
import type { Embedder } from "../search/embedding/embedder.ts";
import type {
  KnownMode,
  Processes,
  RouteFunction,
  SecretMode,
  Summarizer,
} from "../workspace/workspace.ts";
import { filesOption } from "./option-checks.ts";

/** Loaded when the first question is asked. */
export function embedderOf({ embedder }: HubOptions): () => Promise<Embedder | undefined> {
  if (embedder === false) return async () => undefined;
  if (typeof embedder === "function") return embedder;
  if (embedder !== undefined) return async () => embedder;
  return async () => (await import("../search/embedding/word-vectors.ts")).bundledWords();
}

export interface HubOptions {
  readonly workspace?: string;
  /** False: an error where there is no store yet, instead of making one. */
  readonly create?: boolean;
  readonly limits?: Partial<Limits>;
  /**
   * How long a session may be silent before its work goes to the next, where somebody thinks between two
   * calls: `limits.leaseMs` unless told. In milliseconds; for agents with `lease: "session"`.
   */
  readonly sessionMs?: number;
  /** How handoffs are tried that say nothing about it. */
  readonly policy?: PolicyInput;
  /** Computes the receiver of a handoff that names none. */
  readonly route?: RouteFunction;
  /** Decides about failures that nobody else decides about; undefined leaves it to the rules. */
  readonly coordinate?: CoordinateFunction;
  /**
   * What compares memories by meaning: the bundled table of words unless told, a server through
   * `httpEmbedder()`, or false for words only.
   */
  readonly embedder?: Embedder | (() => Promise<Embedder>) | false;
  /**
   * Whether `remember` looks first for what is known already: "report" tells, "refuse" refuses to say
   * it again. "ignore" unless told: a look is a search, and an append should be one commit and no more.
   */
  readonly known?: KnownMode;
  /**
   * What is done about keys, passwords and tokens in what is said, before it is stored: "redact" (unless
   * told) puts what it is in place of each, "refuse" refuses the call, "allow" stores them. Where the
   * workspace has a rule of its own, the stricter counts.
   */
  readonly secrets?: SecretMode;
  /**
   * What says long records in fewer words when somebody asks for their summary and nobody has written
   * one: `httpSummarizer()`, or your own. Without one the record's own sentences do.
   */
  readonly summarizer?: Summarizer;
  /**
   * The folder whose files are looked into when a handoff names one by its digest: the current one
   * unless told; false: none.
   */
  readonly files?: string | false;
  /** Of a hub over HTTP: what it is asked with; unless told, what BATON_TOKEN says. */
  readonly token?: string;
  /** Of a hub over HTTP: how long one that is away is waited for, in milliseconds: 30 seconds unless told. */
  readonly patienceMs?: number;
  /** Of a hub over HTTP: what carries requests to it, instead of the network. */
  readonly fetch?: (request: Request) => Response | Promise<Response>;
  /** For tests and replays. */
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly random?: () => number;
  readonly processes?: Processes;
  readonly versions?: Versions;
}

/** Checked before a store is opened for it. */
export function secretMode({ secrets }: HubOptions): SecretMode | undefined {
  return parseOr(SecretModeSchema.optional(), secrets, {
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
