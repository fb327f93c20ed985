/** Opens a hub over HTTP. Calls `agents.me` once, so that a wrong address or token fails here. */
import { systemClock } from "../base/clock.ts";
import { randomIdGenerator } from "../base/ids.ts";
import { PayloadTypes } from "../envelope/payload-types.ts";
import type { WhoAmI } from "../hub/groups/agents.ts";
import type { HubOptions } from "../hub/options.ts";
import { HEADERS } from "../operations/wire/headers.ts";
import { Connection, type TokenSource } from "./connection/connection.ts";
import { CLIENT_TIMING } from "./connection/timing.ts";
import { Wire } from "./connection/wire.ts";
import { RemoteHub } from "./hub.ts";
import type { NodeModules } from "./needs-node.ts";
import {
  baseUrlOf,
  requireRemoteOptions,
  requireSecureToken,
  workspaceMismatch,
} from "./options.ts";
import { TraceTally } from "./traces.ts";

/** Returns an open hub. `node`: the parts that need Node, undefined in other runtimes. */
export async function openRemoteHub(
  address: string,
  options: HubOptions,
  node: NodeModules | undefined,
): Promise<RemoteHub> {
  const base = baseUrlOf(address);
  requireRemoteOptions(options);
  requireSecureToken(base, options);
  const { token, workspace, fetch, outageMs = CLIENT_TIMING.outageMs } = options;
  const tokens =
    token === undefined ? (await node?.localToken())?.localTokenSource(base) : fixedToken(token);
  const wire = new Wire(new Connection(base, { fetch, outageMs, node, tokens }), {
    ...(workspace === undefined ? {} : { [HEADERS.workspace]: encodeURIComponent(workspace) }),
  });
  const who = await wire.call<WhoAmI>("agents.me", {});
  if (workspace !== undefined && who.workspace !== workspace) {
    throw workspaceMismatch(workspace, who.workspace);
  }
  const ids = randomIdGenerator(systemClock);
  const { leaseMs, agent: bound } = who;
  const tally = new TraceTally();
  const payloads = new PayloadTypes();
  const { known, sessionMs } = options;
  const kept = { wire, payloads, ids, bound, leaseMs, sessionMs, tally, known, node };
  return new RemoteHub(kept, { ...options, workspace: who.workspace });
}

/** Returns the source of a token that does not change. */
const fixedToken = (token: string): TokenSource => ({ current: () => token, renew: () => false });
