/**
 * A process on PostgreSQL that only listens: after "ready" it reports only what it was woken for.
 * Usage: `waking-child.ts <part> <address> …`
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

/** `listen <address> <workspace> <agent> …`: reports which agent is woken, until it is killed. */
function listen(): void {
  const [workspace = "", ...agents] = rest;
  for (const agent of agents) {
    store.onWake({ workspace, agent }, () => say({ kind: "woken", workspace, agent }));
  }
  stay();
  say({ kind: "ready" });
}

/**
 * `exchange <address> <start file> <own name> <expected count> <receiver> …`: sends to every
 * receiver, and reads its own inbox only when it is woken, until everything has arrived.
 */
async function exchange(): Promise<void> {
  const [start = "", name = "", expected = "", ...receivers] = rest;
  const hub = new LocalHub(store);
  const agent = await hub.agent(name);
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  let isComplete = false;
  const check = async (): Promise<void> => {
    if ((await waiting(name)) < Number(expected) || isComplete) return;
    isComplete = true; // Several wake-ups can be checked at the same time.
    say({ kind: "complete" });
    resolve();
  };
  const stop = store.onWake({ workspace: "default", agent: name }, () => void check());
  stay();
  say({ kind: "ready" });
  while (!existsSync(start)) await sleep(1);
  for (let n = 0; n < SENDS; n++) {
    for (const to of receivers) {
      await agent.handoff({ to, task: `${process.pid}-${to}-${n}`, intent: "Look" });
    }
  }
  await complete;
  stop(); // Closing wakes all listeners once more.
  await hub.close();
  process.exit();
}

async function waiting(receiver: string): Promise<number> {
  const states = ["ready"] as const;
  const inbox = { workspace: "default", receivers: [receiver], states, limit: 10_000 };
  return (await store.listDeliveries(inbox)).length;
}

/** `forget <address>`: writes, reads and listens, and never closes the store. */
async function forget(): Promise<void> {
  const agent = await new LocalHub(store).agent("ann", { role: "worker" });
  await agent.remember({ content: "x" });
  await agent.memories.recent();
  await agent.accept();
  store.onWake({ workspace: "default", agent: "ann" }, () => {});
  say({ kind: "ready" });
}

/** Keeps the process alive, which a listener does not. */
function stay(): void {
  setInterval(() => {}, 3_600_000);
}
