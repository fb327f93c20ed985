/**
 * The definition of an operation: name, route, access, input and output. HTTP routes, OpenAPI, the client's
 * methods, the access matrix, the fuzzer and the reference are all derived from the list in index.ts.
 *
 * An operation's name is its path in the SDK: "deliveries.get" is `hub.deliveries.get()`, "remember" is
 * `agent.remember()`, "work.complete" is `work.complete()`. An operation without a `run` function calls that
 * method.
 */
import type * as z from "zod";
import type { Access } from "../access/levels.ts";
import type { LocalAgent } from "../hub/agent.ts";
import type { LocalHub } from "../hub/hub.ts";
import type { Actor } from "../workspace/actor.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
/** Method and path; `:name` is a path parameter. */
export type Route = `${Method} /v1/${string}`;

/** The caller of an operation. */
export interface OperationContext {
  /** The hub, in the caller's workspace. */
  readonly hub: LocalHub;
  readonly access: Access;
  /** Who calls, for the audit records. */
  readonly actor: Actor;
  /** The agent named by the token or a header; undefined when the caller named none. */
  readonly named: string | undefined;
  /** The idempotency key of the call. */
  readonly key: string | undefined;
  /** Returns the agent that acts, in the session and on the branch of the call. Throws if none was named. */
  agent(): Promise<LocalAgent>;
  /** Returns the agent if one was named, otherwise the hub, which sees what the whole team sees. */
  reader(): Promise<LocalHub | LocalAgent>;
  /** Aborted when the caller disconnects or the hub closes. */
  readonly signal: AbortSignal;
  /** Reports progress to a caller that asked for it. */
  readonly onProgress: (progress: object) => void;
}

/** Everything about an operation except its name. */
export interface Definition<Input extends z.ZodObject = z.ZodObject> {
  /** One sentence, for the reference. */
  readonly summary: string;
  /** Input fields that are not in the path are sent in the query (GET, DELETE) or the body. */
  readonly route: Route;
  /** The minimum access level of the caller. */
  readonly access: Access;
  /** The object that has the method. "reader": the agent if one is named, otherwise the hub. */
  readonly on: "hub" | "agent" | "reader" | "work" | "offer";
  /** Fields of the input that are positional arguments, in order; the other fields are the options. */
  readonly args?: readonly (string & keyof Input["shape"])[];
  /**
   * Describes the input. It is only used to refuse unknown fields; values are checked by the method, so that
   * every interface refuses the same input with the same error.
   */
  readonly input: Input;
  /** Describes the output; tests compare every answer with it. */
  readonly output: z.ZodType;
  /** The field of the output that the SDK returns; null in it is undefined in the SDK. */
  readonly field?: string;
  /** True: the method refuses unknown fields itself. */
  readonly rest?: true;
  /** True: reports progress to callers that accept NDJSON lines. */
  readonly progress?: true;
  /** True: the call can wait (long polling); it is not counted in latency metrics. */
  readonly waits?: true;
  /** Throws if the caller may not do this, although its access level is sufficient. */
  guard?(acting: OperationContext, input: z.input<Input>): Promise<void>;
  /** Runs the operation instead of calling the method it is named after. */
  run?(acting: OperationContext, input: z.input<Input>): Promise<unknown>;
}

/** An operation with its name. */
export interface Operation extends Definition {
  readonly name: string;
}

/** Checks a definition and infers the type of its input. */
export const operation = <Input extends z.ZodObject>(definition: Definition<Input>): Definition =>
  definition as unknown as Definition;
