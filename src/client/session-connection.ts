/** The state that hubs, agents, offers and work over HTTP share in this process. */

import type { IdGenerator } from "../base/ids.ts";
import type { LeaseKind } from "../delivery/receive/worker.ts";
import type { PayloadTypes } from "../envelope/payload-types.ts";
import type { HubOptions } from "../hub/options.ts";
import type { AgentInfo } from "../memory/agents.ts";
import type { Wire } from "./connection/wire.ts";
import type { HeldHandles } from "./held-handles.ts";
import type { NodeModules } from "./needs-node.ts";
import type { RemoteTraces, TraceTally } from "./traces.ts";

/** The state of one open hub. */
export interface ClientContext {
  readonly wire: Wire;
  /** Payload types defined in this process; their schemas are functions and are applied here. */
  readonly payloads: PayloadTypes;
  readonly ids: IdGenerator;
  /** The agent that the token is bound to; undefined if it can act as any agent. */
  readonly bound: string | undefined;
  /** Lease duration of the hub, in milliseconds. */
  readonly leaseMs: number;
  /** Session timeout in milliseconds; undefined: the hub's default. */
  readonly sessionMs: HubOptions["sessionMs"];
  readonly tally: TraceTally;
  /** Default of the option `known` of `remember`. */
  readonly known: HubOptions["known"];
  /** Undefined outside Node. */
  readonly node: NodeModules | undefined;
}

/** The state of one agent in one session. */
export interface SessionConnection extends ClientContext {
  readonly info: AgentInfo;
  readonly lease: LeaseKind;
  readonly traces: RemoteTraces;
  /** Undefined if another process may use the same session. */
  readonly handles: HeldHandles | undefined;
}
