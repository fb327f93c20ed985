/**
 * Child process that only listens: everything it prints after "ready" is caused by a wake-up.
 * `waking-child.ts <part> <file> …`
 */
import { EventEmitter, once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../../src/base/clock.ts";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import { LocalHub } from "../../../src/index.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { sayLine } from "../../support/child.ts";
import { SENDS, type WakingFact, type WakingPart } from "./waking-facts.ts";

const [part = "", file = "", ...rest] = process.argv.slice(2);
const say = (fact: WakingFact): void => sayLine(fact);
const open = () => openSqliteStore({ file, clock: systemClock, limits: DEFAULT_LIMITS });
const store = await open();
const parts: Record<WakingPart, () => Promise<void> | void> = { listen, exchange, forget, starve };
await parts[part as WakingPart]();

/** `listen <file> <workspace> <agent> …`: prints which agents are woken, until it is killed. */
function listen(): void {
  const [workspace = "", ...agents] = rest;
  for (const agent of agents) sayWhenWoken(workspace, agent);
  stay();
  say({ kind: "ready" });
}

/**
 * `exchange <file> <start file> <own name> <expected> <receiver> …`: sends to every receiver, and
 * checks its own inbox only when it is woken, until the expected number has arrived.
 */
async function exchange(): Promise<void> {
  const [start = "", name = "", expected = "", ...receivers] = rest;
  const hub = new LocalHub(store);
  const agent = await hub.agent(name);
  const complete = new Promise<void>((resolve) => {
    let isComplete = false;
    const check = async (): Promise<void> => {
      if ((await waiting(name)) < Number(expected) || isComplete) return;
      isComplete = true; // Several wake-ups can be checked at the same time.
      say({ kind: "complete" });
      resolve();
    };
    store.onWake({ workspace: "default", agent: name }, () => void check());
  });
  stay();
  say({ kind: "ready" });
  while (!existsSync(start)) await sleep(1);
  for (let n = 0; n < SENDS; n++) {
    for (const to of receivers) {
      await agent.handoff({ to, task: `${process.pid}-${to}-${n}`, intent: "Look" });
    }
  }
  await complete;
  await hub.close();
  process.exit();
}

async function waiting(receiver: string): Promise<number> {
  const states = ["ready"] as const;
  const inbox = { workspace: "default", receivers: [receiver], states, limit: 10_000 };
  return (await store.listDeliveries(inbox)).length;
}

/** `forget <file> <workspace> <agent>`: listens, and has nothing else to do. */
function forget(): void {
  const [workspace = "", agent = ""] = rest;
  sayWhenWoken(workspace, agent);
  say({ kind: "ready" });
}

/**
 * `starve <file> <agent>`: has no free file handle when it starts to listen. What it sends is
 * stored anyway; another store of this process can wake it once there are free handles again.
 */
async function starve(): Promise<void> {
  const [name = ""] = rest;
  const outside = await new LocalHub(await open()).agent(name);
  const inside = await new LocalHub(store).agent(name);
  const handles = openAllHandles();
  const wakeUps = new EventEmitter();
  store.onWake({ workspace: "default", agent: name }, () => wakeUps.emit("woken"));
  stay();
  const woken = once(wakeUps, "woken");
  await inside.handoff({ to: name, task: "starved", intent: "Is stored all the same" });
  await woken;
  const recovered = once(wakeUps, "woken");
  for (const handle of handles) closeSync(handle);
  await recovered;
  for (let n = 0; n < 3; n++) {
    const called = once(wakeUps, "woken");
    await outside.handoff({ to: name, task: `fed-${n}`, intent: "Wake up" });
    await called;
  }
  say({ kind: "complete" });
  process.exit();
}

function openAllHandles(): number[] {
  const handles: number[] = [];
  for (;;) {
    try {
      handles.push(openSync("/dev/null", "r"));
    } catch {
      return handles;
    }
  }
}

function sayWhenWoken(workspace: string, agent: string): void {
  store.onWake({ workspace, agent }, () => say({ kind: "woken", agent }));
}

/** Keeps the process alive, which a listener does not. */
function stay(): void {
  setInterval(() => {}, 3_600_000);
}
