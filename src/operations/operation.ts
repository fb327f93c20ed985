/**
 * What an operation is. HTTP routes, OpenAPI, the client's methods, the access matrix, the fuzzer and the
 * reference are all derived from the list of these (index.ts).
 *
 * An operation's name is its path in the SDK: "deliveries.get" is `hub.deliveries.get()`, "remember" is
 * `agent.remember()`, "work.complete" is `work.complete()`. Unless it has a `run` of its own, that method is
 * what it calls.
 */
import type * as z from "zod";
import type { Access } from "../access/levels.ts";
import type { LocalAgent } from "../hub/agent.ts";
import type { LocalHub } from "../hub/hub.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type Route = `${Method} /v1/${string}`;

/** The caller of an operation. */
export interface OperationContext {
  /** The hub, in the caller's workspace. */
  readonly hub: LocalHub;
  readonly access: Access;
  /** The agent named by the token or a header; undefined when the caller named none. */
  readonly named: string | undefined;
  /** The idempotency key of the call. */
  readonly key: string | undefined;
  /** Returns the agent that acts, in the session and on the branch of the call. Throws if none was named. */
  agent(): Promise<LocalAgent>;
  /** Returns the agent if one was named, else the hub, which sees what the whole team sees. */
  reader(): Promise<LocalHub | LocalAgent>;
  /** Aborted when the caller disconnects or the hub closes. */
  readonly signal: AbortSignal;
  /** Reports progress to a caller that asked for it. */
  readonly tell: (progress: object) => void;
}

export interface Definition<Input extends z.ZodObject = z.ZodObject> {
  /** One sentence, for the reference. */
  readonly summary: string;
  /** Fields that the path does not name travel in the query (GET, DELETE) or the body. */
  readonly route: Route;
  /** The least access that may call it. */
  readonly access: Access;
  /** Whose method it is. "reader": an agent's if one is named, else the hub's. */
  readonly on: "hub" | "agent" | "reader" | "work" | "offer";
  /** Fields of the input that are positional arguments, in order; the other fields are the options. */
  readonly args?: readonly (string & keyof Input["shape"])[];
  /**
   * Describes the input. Only unknown fields are refused by it; values are checked by the method, so that
   * every interface refuses the same input with the same error.
   */
  readonly input: Input;
  /** Describes the output; tests compare every answer with it. */
  readonly output: z.ZodType;
  /** The field of the output that the SDK returns; null in it is undefined in the SDK. */
  readonly field?: string;
  /** True: the method refuses unknown fields itself. */
  readonly rest?: true;
  /** True: reports progress to callers that ask for lines. */
  readonly progress?: true;
  /** True: the answer may be held back; such a call is not counted in latencies. */
  readonly waits?: true;
  /** Throws if the caller may not do this, although its access would allow it. */
  guard?(acting: OperationContext, input: z.input<Input>): Promise<void>;
  run?(acting: OperationContext, input: z.input<Input>): Promise<unknown>;
}

export interface Operation extends Definition {
  readonly name: string;
}

/** Checks a definition and infers the type of its input. */
export const operation = <Input extends z.ZodObject>(definition: Definition<Input>): Definition =>
  definition as unknown as Definition;
