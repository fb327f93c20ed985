/**
 * The contract of a store: one suite that every implementation passes, also a third party's. Needs
 * Vitest. In a test file of your own:
 *
 *     storeContract("my store", async ({ clock }) => ({ store: await openMyStore({ clock }) }));
 *
 * Each test opens a store of its own and expects it to be empty; time is what the given clock says.
 */
import { describe } from "vitest";
import { agents } from "./contract/agents.ts";
import { archiving } from "./contract/archiving.ts";
import { bodies } from "./contract/bodies.ts";
import { breakers } from "./contract/breakers.ts";
import { broadcasting } from "./contract/broadcasting.ts";
import { claiming } from "./contract/claiming.ts";
import { due } from "./contract/due.ts";
import { entries } from "./contract/entries.ts";
import { expiring } from "./contract/expiring.ts";
import { extending } from "./contract/extending.ts";
import { finding } from "./contract/finding.ts";
import { holding } from "./contract/holding.ts";
import { housekeeping } from "./contract/housekeeping.ts";
import { inbound } from "./contract/inbound.ts";
import { lines } from "./contract/lines.ts";
import { marking } from "./contract/marking.ts";
import { memories } from "./contract/memories.ts";
import { moving } from "./contract/moving.ts";
import { order } from "./contract/order.ts";
import { parked } from "./contract/parked.ts";
import { priorities } from "./contract/priorities.ts";
import { processes } from "./contract/processes.ts";
import { pruning } from "./contract/pruning.ts";
import { querying } from "./contract/querying.ts";
import { redacting } from "./contract/redacting.ts";
import { roles } from "./contract/roles.ts";
import { type OpenStore, sceneTest } from "./contract/scene.ts";
import { searching } from "./contract/search.ts";
import { sending } from "./contract/sending.ts";
import { sessions } from "./contract/sessions.ts";
import { settling } from "./contract/settling.ts";
import { vectors } from "./contract/vectors.ts";

export type { OpenedStore, OpenStore } from "./contract/scene.ts";

export function storeContract(name: string, open: OpenStore): void {
  const it = sceneTest(open);
  describe(`the store contract: ${name}`, () => {
    agents(it);
    memories(it);
    finding(it);
    searching(it);
    vectors(it);
    bodies(it);
    lines(it);
    inbound(it);
    sending(it);
    extending(it);
    claiming(it);
    order(it);
    holding(it);
    settling(it);
    due(it);
    moving(it);
    marking(it);
    expiring(it);
    processes(it);
    sessions(it);
    entries(it);
    breakers(it);
    broadcasting(it);
    roles(it);
    priorities(it);
    parked(it);
    pruning(it);
    archiving(it);
    housekeeping(it);
    redacting(it);
    querying(it);
  });
}
