/** What everything that one agent has in hand over HTTP shares: who calls, and what is kept at this end. */

import type { IdGenerator } from "../base/ids.ts";
import type { LeaseKind } from "../delivery/receive/worker.ts";
import type { PayloadTypes } from "../envelope/payload-types.ts";
import type { HubOptions } from "../hub/options.ts";
import type { AgentInfo } from "../memory/agents.ts";
import type { Wire } from "./connection/wire.ts";
import type { HeldHandles } from "./held-handles.ts";
import type { NodeModules } from "./needs-node.ts";
import type { RemoteTraces, TraceTally } from "./traces.ts";

/** What a hub over HTTP has at this end. */
export interface ClientContext {
  readonly wire: Wire;
  /** Schemas of payloads are functions: they are kept here, and what is sent is held against them here. */
  readonly payloads: PayloadTypes;
  readonly ids: IdGenerator;
  /** The one agent that the token is of, if it is of one. */
  readonly bound: string | undefined;
  readonly leaseMs: number;
  /** How long a session may be silent, where that is said. */
  readonly sessionMs: HubOptions["sessionMs"];
  readonly tally: TraceTally;
  /** What `remember` does about what is known already, where it is not said. */
  readonly known: HubOptions["known"];
  /** Undefined where the client does not run in Node. */
  readonly node: NodeModules | undefined;
}

/** The same for one agent in one session. */
export interface SessionConnection extends ClientContext {
  readonly info: AgentInfo;
  readonly lease: LeaseKind;
  readonly traces: RemoteTraces;
  /** Undefined for a session that may be at work elsewhere too. */
  readonly hands: HeldHandles | undefined;
}
