/** Opening a hub over HTTP: asks it once who it takes the caller for, so that a wrong address is told now. */
import { systemClock } from "../base/clock.ts";
import { randomIds } from "../base/ids.ts";
import { PayloadTypes } from "../envelope/payload.ts";
import type { HubOptions } from "../hub/hub.ts";
import { HEADERS } from "../wire/routes.ts";
import { Connection } from "./connection.ts";
import { RemoteHub } from "./hub.ts";
import { baseOf, otherWorkspace, requireRemote } from "./options.ts";
import { PATIENCE } from "./patience.ts";
import { TraceTally } from "./traces.ts";
import { Wire } from "./wire.ts";

export async function openRemoteHub(address: string, options: HubOptions): Promise<RemoteHub> {
  const base = baseOf(address);
  requireRemote(options);
  const { token, workspace, fetch, patienceMs = PATIENCE.outageMs } = options;
  const wire = new Wire(new Connection(base, { fetch, outageMs: patienceMs }), {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(workspace === undefined ? {} : { [HEADERS.workspace]: encodeURIComponent(workspace) }),
  });
  const who = await wire.call("whoAmI", {});
  if (workspace !== undefined && who.workspace !== workspace) {
    throw otherWorkspace(workspace, who.workspace);
  }
  const ids = randomIds(systemClock);
  const { leaseMs, agent: bound } = who;
  const tally = new TraceTally();
  const payloads = new PayloadTypes();
  const { known, sessionMs } = options;
  const kept = { wire, payloads, ids, bound, leaseMs, sessionMs, tally, known };
  return new RemoteHub(kept, { ...options, workspace: who.workspace });
}
