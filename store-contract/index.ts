/**
 * The store contract: a suite that every store implementation must pass, including third-party
 * stores. Requires Vitest. In a test file:
 *
 *     storeContract("my store", async ({ clock }) => ({ store: await openMyStore({ clock }) }));
 *
 * Each test opens its own store, which must be empty and must take its time from the given clock.
 */
import { describe } from "vitest";
import { breakers } from "./suite/deliveries/breakers.ts";
import { broadcasting } from "./suite/deliveries/broadcasting.ts";
import { browsing } from "./suite/deliveries/browsing.ts";
import { claiming } from "./suite/deliveries/claiming.ts";
import { due } from "./suite/deliveries/due.ts";
import { expiring } from "./suite/deliveries/expiring.ts";
import { extending } from "./suite/deliveries/extending.ts";
import { leases } from "./suite/deliveries/leases.ts";
import { moveEntries } from "./suite/deliveries/move-entries.ts";
import { moving } from "./suite/deliveries/moving.ts";
import { movingLines } from "./suite/deliveries/moving-lines.ts";
import { refusingMoves } from "./suite/deliveries/moving-refusals.ts";
import { order } from "./suite/deliveries/order.ts";
import { parked } from "./suite/deliveries/parked.ts";
import { priorities } from "./suite/deliveries/priorities.ts";
import { processes } from "./suite/deliveries/processes.ts";
import { roles } from "./suite/deliveries/roles.ts";
import { sending } from "./suite/deliveries/sending.ts";
import { sendingMany } from "./suite/deliveries/sending-many.ts";
import { sessions } from "./suite/deliveries/sessions.ts";
import { settling } from "./suite/deliveries/settling.ts";
import { settlingAndClaiming } from "./suite/deliveries/settling-and-claiming.ts";
import { archiving } from "./suite/maintenance/archiving.ts";
import { lifecycle } from "./suite/maintenance/lifecycle.ts";
import { pruning } from "./suite/maintenance/pruning.ts";
import { redacting } from "./suite/maintenance/redacting.ts";
import { agents } from "./suite/records/agents.ts";
import { entries } from "./suite/records/entries.ts";
import { envelopeSearch } from "./suite/records/envelope-search.ts";
import { finding } from "./suite/records/finding.ts";
import { inbound } from "./suite/records/inbound.ts";
import { lines } from "./suite/records/lines.ts";
import { memories } from "./suite/records/memories.ts";
import { querying } from "./suite/records/querying.ts";
import { searching } from "./suite/records/search.ts";
import { vectors } from "./suite/records/vectors.ts";
import { type OpenStore, sceneTest } from "./suite/scene.ts";

export type { OpenedStore, OpenStore } from "./suite/scene.ts";

export function storeContract(name: string, open: OpenStore): void {
  const it = sceneTest(open);
  describe(`store contract: ${name}`, () => {
    agents(it);
    memories(it);
    finding(it);
    searching(it);
    vectors(it);
    envelopeSearch(it);
    lines(it);
    inbound(it);
    sending(it);
    sendingMany(it);
    extending(it);
    claiming(it);
    order(it);
    leases(it);
    settling(it);
    settlingAndClaiming(it);
    due(it);
    moving(it);
    movingLines(it);
    refusingMoves(it);
    moveEntries(it);
    expiring(it);
    processes(it);
    sessions(it);
    entries(it);
    breakers(it);
    broadcasting(it);
    roles(it);
    priorities(it);
    parked(it);
    browsing(it);
    pruning(it);
    archiving(it);
    lifecycle(it);
    redacting(it);
    querying(it);
  });
}
