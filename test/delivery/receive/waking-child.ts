/**
 * A process that does nothing by itself but listen: whatever it says after "ready", it says because
 * it was woken. `waking-child.ts <part> <file> …`
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

/** `listen <file> <workspace> <agent> …`: says who is called, until it is killed. */
function listen(): void {
  const [workspace = "", ...agents] = rest;
  for (const agent of agents) sayWhenWoken(workspace, agent);
  stay();
  say({ kind: "ready" });
}

/**
 * `exchange <file> <start file> <own name> <how many come> <receiver> …`: sends to every receiver, and looks into
 * its own inbox each time it is called and at no other time, until everything is there.
 */
async function exchange(): Promise<void> {
  const [start = "", name = "", expected = "", ...receivers] = rest;
  const hub = new LocalHub(store);
  const agent = await hub.agent(name);
  const complete = new Promise<void>((resolve) => {
    const look = async (): Promise<void> => {
      if ((await waiting(name)) < Number(expected)) return;
      say({ kind: "complete" });
      resolve();
    };
    store.onWake({ workspace: "default", agent: name }, () => void look());
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

/** `forget <file> <workspace> <agent>`: listens, and has nothing more to do. */
function forget(): void {
  const [workspace = "", agent = ""] = rest;
  sayWhenWoken(workspace, agent);
  say({ kind: "ready" });
}

/**
 * `starve <file> <agent>`: has no file handle left when it begins to listen. Stored is what it sends
 * all the same; called from outside (another store of this process) it is once it has some again.
 */
async function starve(): Promise<void> {
  const [name = ""] = rest;
  const outside = await new LocalHub(await open()).agent(name);
  const inside = await new LocalHub(store).agent(name);
  const handles = openAllThereAre();
  const heard = new EventEmitter();
  store.onWake({ workspace: "default", agent: name }, () => heard.emit("woken"));
  stay();
  const woken = once(heard, "woken");
  await inside.handoff({ to: name, task: "starved", intent: "Is stored all the same" });
  await woken;
  const mended = once(heard, "woken");
  for (const handle of handles) closeSync(handle);
  await mended;
  for (let n = 0; n < 3; n++) {
    const called = once(heard, "woken");
    await outside.handoff({ to: name, task: `fed-${n}`, intent: "Wake up" });
    await called;
  }
  say({ kind: "complete" });
  process.exit();
}

function openAllThereAre(): number[] {
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

/** What listens does not keep a process alive. */
function stay(): void {
  setInterval(() => {}, 3_600_000);
}
