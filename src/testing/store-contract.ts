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
import { memories } from "./contract/memories.ts";
import { moving } from "./contract/moving.ts";
import { order } from "./contract/order.ts";
import { parked } from "./contract/parked.ts";
import { priorities } from "./contract/priorities.ts";
import { processes } from "./contract/processes.ts";
import { roles } from "./contract/roles.ts";
import { type OpenStore, sceneTest } from "./contract/scene.ts";
import { sending } from "./contract/sending.ts";
import { sessions } from "./contract/sessions.ts";
import { settling } from "./contract/settling.ts";

export type { OpenedStore, OpenStore } from "./contract/scene.ts";

export function storeContract(name: string, open: OpenStore): void {
  const it = sceneTest(open);
  describe(`the store contract: ${name}`, () => {
    agents(it);
    memories(it);
    finding(it);
    sending(it);
    extending(it);
    claiming(it);
    order(it);
    holding(it);
    settling(it);
    due(it);
    moving(it);
    expiring(it);
    processes(it);
    sessions(it);
    entries(it);
    breakers(it);
    broadcasting(it);
    roles(it);
    priorities(it);
    parked(it);
    housekeeping(it);
  });
}
