/**
 * A process on PostgreSQL that does nothing by itself but listen: whatever it says after "ready", it
 * says because it was woken. `waking-child.ts <part> <address> …`
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import { LocalHub } from "../../../src/index.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { sayLine } from "../../support/child.ts";
import { SENDS, type WakingFact } from "./waking-facts.ts";

const [part = "", address = "", ...rest] = process.argv.slice(2);
const say = (fact: WakingFact): void => sayLine(fact);
const store = await openPostgresStore({ address, limits: DEFAULT_LIMITS });
const parts: Record<string, () => Promise<void> | void> = { listen, exchange, forget };
await parts[part]?.();

/** `listen <address> <workspace> <agent> …`: says who is called, until it is killed. */
function listen(): void {
  const [workspace = "", ...agents] = rest;
  for (const agent of agents) {
    store.onWake({ workspace, agent }, () => say({ kind: "woken", workspace, agent }));
  }
  stay();
  say({ kind: "ready" });
}

/**
 * `exchange <address> <start file> <own name> <how many come> <receiver> …`: sends to every
 * receiver, and looks into its own inbox each time it is called and at no other time, until
 * everything is there.
 */
async function exchange(): Promise<void> {
  const [start = "", name = "", expected = "", ...receivers] = rest;
  const hub = new LocalHub(store);
  const agent = await hub.agent(name);
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  const look = async (): Promise<void> => {
    if ((await waiting(name)) < Number(expected)) return;
    say({ kind: "complete" });
    resolve();
  };
  const stop = store.onWake({ workspace: "default", agent: name }, () => void look());
  stay();
  say({ kind: "ready" });
  while (!existsSync(start)) await sleep(1);
  for (let n = 0; n < SENDS; n++) {
    for (const to of receivers) {
      await agent.handoff({ to, task: `${process.pid}-${to}-${n}`, intent: "Look" });
    }
  }
  await complete;
  stop(); // Closing calls everybody once more.
  await hub.close();
  process.exit();
}

async function waiting(receiver: string): Promise<number> {
  const states = ["ready"] as const;
  const inbox = { workspace: "default", receivers: [receiver], states, limit: 10_000 };
  return (await store.listDeliveries(inbox)).length;
}

/** `forget <address>`: writes, reads, listens, and has nothing more to do. */
async function forget(): Promise<void> {
  const agent = await new LocalHub(store).agent("ann", { role: "worker" });
  await agent.remember({ content: "x" });
  await agent.memories.recent();
  await agent.accept();
  store.onWake({ workspace: "default", agent: "ann" }, () => {});
  say({ kind: "ready" });
}

/** What listens does not keep a process alive. */
function stay(): void {
  setInterval(() => {}, 3_600_000);
}
