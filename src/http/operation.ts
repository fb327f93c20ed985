/**
 * What an operation of the HTTP hub is: who may call it, what goes in and out, and the line that makes
 * the call on the hub. Routes, the OpenAPI description, the access matrix and the fuzzed requests are all
 * made from these; paths and types are the wire's.
 */
import type * as z from "zod";
import type { Access } from "../access/levels.ts";
import type { LocalAgent } from "../hub/agent.ts";
import type { LocalHub } from "../hub/hub.ts";
import type { CallName, InputOf, OutputOf } from "../wire/calls.ts";

/** Who is calling, and for how long. */
export interface Acting {
  /** The hub, in the caller's workspace. */
  readonly hub: LocalHub;
  readonly access: Access;
  /** The agent that a token or a header names; undefined where the caller named none. */
  readonly named: string | undefined;
  /** The idempotency key of the call. */
  readonly key: string | undefined;
  /** Who acts, in the session and on the branch of the call. Refused where the caller named nobody. */
  agent(): Promise<LocalAgent>;
  /** Who looks: the agent where one is named, else the hub, which sees what everybody sees. */
  reader(): Promise<LocalHub | LocalAgent>;
  /** Aborted when the caller has gone, or the hub is closing. */
  readonly signal: AbortSignal;
  /** Tells a caller that listens how far it has come. */
  readonly tell: (progress: object) => void;
}

export interface Operation<Name extends CallName> {
  /** One sentence, for the reference. */
  readonly summary: string;
  /** The least access that may. */
  readonly access: Access;
  /**
   * What goes in, as it is described. It is checked here only for unknown fields: what is in them is for
   * the room that uses it to check, so that every door refuses the same things with the same words.
   */
  readonly input: z.ZodObject;
  /** What comes out, as it is described; the tests hold every answer against it. */
  readonly output: z.ZodType;
  /** True: what is left of the input goes to a room that refuses unknown fields itself. */
  readonly rest?: true;
  /** True: who asks for lines is told of progress. */
  readonly progress?: true;
  /** True: answers may be held back; such a call is not counted into latencies. */
  readonly waits?: true;
  run(acting: Acting, input: InputOf<Name>): Promise<OutputOf<Name>>;
}

/** A part of the table: every name with its own types. */
export type Operations<Names extends CallName> = { readonly [Name in Names]: Operation<Name> };
