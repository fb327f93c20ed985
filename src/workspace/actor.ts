/**
 * Who makes a call: passed along the call by the runtime, not through parameters, because a change is recorded
 * far below the interface that knows its caller. Only interfaces that authenticate set it.
 */
import { AsyncLocalStorage } from "node:async_hooks";

/** The caller of an interface. Never contains the text of a token. */
export interface Actor {
  /**
   * `http`: over HTTP or MCP. `hub`: the hub itself. `embedded`: a program or the command line that opened the
   * store, which knows no callers.
   */
  readonly via: "http" | "hub" | "embedded";
  /** The agent that acts; absent if the interface does not know it. */
  readonly agent?: string | undefined;
  /** The id of its token, or `local`, `browser`, `open` without an issued one. */
  readonly token?: string | undefined;
  readonly access?: string | undefined;
  /** Where a caller that did not authenticate called from. */
  readonly address?: string | undefined;
}

const actors = new AsyncLocalStorage<Actor>();

const EMBEDDED: Actor = { via: "embedded" };

/** Runs a function on behalf of an actor. */
export const runAs = <T>(actor: Actor, run: () => T): T => actors.run(actor, run);

/** Returns the actor on whose behalf this code runs. Default: embedded. */
export const currentActor = (): Actor => actors.getStore() ?? EMBEDDED;
