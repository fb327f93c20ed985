/**
 * `npm run bench -- --only due`: how late `baton start` carries out what falls due while no agent polls, on both
 * stores: alone, and after the process in charge was killed. Then many deadlines in the same second: how long
 * they take, whether they are carried out in order of their times, and how much memory the hub uses meanwhile.
 */
import { spawn } from "node:child_process";
import { loadavg } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/base/clock.ts";
import { type Agent, type Hub, openHub } from "../../src/index.ts";
import { startPostgres } from "../engines/postgres.ts";
import { type HubProcess, residentMb, startHub } from "../hub-process.ts";
import { callersLoop, type Folder, inScratch } from "../kit.ts";

const HELP = `npm run bench -- --only due [--stores sqlite,postgres] [--timers 10000] [--rounds 3]
`;
/** Each timer falls due this long after it was set. */
const DUE_MS = 2_000;
const CALLERS = 64;
/** Few enough per inbox for its capacity. */
const RECEIVERS = 100;
const ESTIMATED_BY = 300;
/** A hub that takes the turn and keeps it: its function that decides about failures does not return. */
const STUCK_HUB = fileURLToPath(new URL("stuck-hub.ts", import.meta.url));

export async function runDue(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      stores: { type: "string", default: "sqlite,postgres" },
      timers: { type: "string", default: "10000" },
      rounds: { type: "string", default: "3" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const plan = { timers: Number(values.timers), rounds: Number(values.rounds) };
  for (const store of values.stores.split(",")) {
    await inScratch(async (folder) => {
      if (store === "sqlite")
        return measure(store, `sqlite:${folder.file("hub.db")}`, folder, plan);
      await using engine = await startPostgres();
      await using place = await engine.place();
      await measure(store, place.address, folder, plan);
    });
  }
  const [load = 0] = loadavg();
  process.stdout.write(`load average: ${load.toFixed(1)}\n`);
}

interface Plan {
  readonly timers: number;
  readonly rounds: number;
}

async function measure(
  store: string,
  address: string,
  folder: Folder,
  { timers, rounds }: Plan,
): Promise<void> {
  // A hub with an injected clock sets no timers: it only reads and writes.
  await using hub = await openHub(address, { clock: systemClock, random: () => 0.5 });
  const ada = await hub.agent("ada", { role: "planner" });
  await hub.agent("cyd", { role: "tester" });
  {
    await using _alone = await startHub(address, folder.path);
    for (let round = 1; round <= rounds; round++) {
      print(store, "alone", await lateness(hub, ada, `alone-${round}`));
    }
  }
  await hub.failures.setRule("end", { then: { abort: true } });
  for (let round = 1; round <= rounds; round++) {
    print(store, "after a kill", await afterKill({ hub, ada, address, folder, round }));
  }
  await using started = await startHub(address, folder.path);
  print(store, `${timers} in one second`, await inOneSecond(hub, ada, { started, timers }));
}

function print(store: string, what: string, figures: Readonly<Record<string, number>>): void {
  const listed = Object.entries(figures).map(([name, value]) => `${name} ${Math.round(value)}`);
  process.stdout.write(`${store.padEnd(9)} ${what.padEnd(22)} ${listed.join(", ")}\n`);
}

/** Sets a timer of each kind; returns how many milliseconds after its time each was carried out. */
async function lateness(hub: Hub, ada: Agent, name: string): Promise<Record<string, number>> {
  return awaitTimers(hub, await setTimers(hub, ada, name));
}

interface Timer {
  readonly id: string;
  readonly dueAt: number;
  readonly isDone: (delivery: { readonly state: string; readonly receiver: string }) => boolean;
}

/** Each timer has a receiver of its own, whose circuit breaker stays closed. */
async function setTimers(hub: Hub, ada: Agent, name: string): Promise<Record<string, Timer>> {
  const set = async (
    kind: string,
    policy: object,
    isDone: Timer["isDone"],
  ): Promise<[string, Timer]> => {
    const receiver = await hub.agent(`${name}-${kind}`, { role: kind });
    const to = receiver.id;
    const { id } = await ada.handoff({ to, task: to, intent: "Wait", policy });
    if (kind === "retry") await (await receiver.accept())?.fail({ message: "no" });
    return [kind, { id, dueAt: performance.now() + DUE_MS, isDone }];
  };
  // Half of the longest backoff, because random is 0.5.
  const backoff = { firstMs: 2 * DUE_MS, longestMs: 2 * DUE_MS };
  return Object.fromEntries([
    await set("retry", { attempts: 2, backoff }, ({ state }) => state === "ready"),
    await set("accept", { acceptMs: DUE_MS, attempts: 1 }, ({ state }) => state === "dead"),
    await set("deadline", { deadlineMs: DUE_MS }, ({ state }) => state === "expired"),
    await set(
      "fallback",
      { acceptMs: DUE_MS, attempts: 1, fallback: ["cyd"] },
      ({ receiver }) => receiver === "cyd",
    ),
  ]);
}

async function awaitTimers(
  hub: Hub,
  timers: Readonly<Record<string, Timer>>,
): Promise<Record<string, number>> {
  const each = Object.entries(timers).map(async ([kind, { id, dueAt, isDone }]) => {
    while (!isDone((await hub.deliveries.get(id)).delivery)) await pause(5);
    return [kind, performance.now() - dueAt];
  });
  return Object.fromEntries(await Promise.all(each));
}

interface Killing {
  readonly hub: Hub;
  readonly ada: Agent;
  readonly address: string;
  readonly folder: Folder;
  readonly round: number;
}

/** Kills the process that is carrying out what is due just before the timers fall due. */
async function afterKill({
  hub,
  ada,
  address,
  folder,
  round,
}: Killing): Promise<Record<string, number>> {
  const stuck = spawn(process.execPath, [STUCK_HUB, address], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  stuck.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const hasSaid = async (line: string): Promise<void> => {
    while (!said.includes(line)) await pause(5);
  };
  await hasSaid("open");
  const policy = { acceptMs: 100, attempts: 1 };
  const doomed = await hub.agent(`doomed-${round}`, { role: "doomed" });
  const task = `doomed-${round}`;
  await ada.tasks.add({ to: doomed.id, task, intent: "Fail", policy });
  await hasSaid("deciding");
  await using _other = await startHub(address, folder.path);
  const timers = await setTimers(hub, ada, `killed-${round}`);
  const first = Math.min(...Object.values(timers).map(({ dueAt }) => dueAt));
  await pause(Math.max(0, first - performance.now() - 50));
  stuck.kill("SIGKILL");
  return await awaitTimers(hub, timers); // The other hub closes afterwards.
}

/** Sets many deadlines within one second, and waits until all of them were carried out. */
async function inOneSecond(
  hub: Hub,
  ada: Agent,
  { started, timers }: { readonly started: HubProcess; readonly timers: number },
): Promise<Record<string, number>> {
  const receivers = Array.from({ length: RECEIVERS }, (_, n) => `receiver-${n}`);
  for (const id of receivers) await hub.agent(id, { role: "receiver" });
  const send = (n: number, policy: object) =>
    ada.handoff({ to: `receiver-${n % RECEIVERS}`, task: `many-${n}`, intent: "Wait", policy });
  const estimate = performance.now();
  await callersLoop(CALLERS, ESTIMATED_BY, (n) => send(timers + n, {}));
  const perSend = (performance.now() - estimate) / ESTIMATED_BY;
  const second = Math.ceil((Date.now() + 2 * perSend * timers + 5_000) / 1_000) * 1_000;
  const due = new Map<string, number>();
  await callersLoop(CALLERS, timers, async (n) => {
    const at = second + (n % 1_000);
    const { id } = await send(n, { deadline: new Date(at).toISOString() });
    due.set(id, at);
  });
  const leftMs = second - Date.now();
  if (leftMs < 0) throw new Error(`sending took ${-leftMs} ms too long; pass fewer --timers`);
  const { own: before } = residentMb(started.pid);
  await pause(leftMs);
  let largest = before;
  while ((await hub.deliveries.totals()).byState.expired < timers) {
    largest = Math.max(largest, residentMb(started.pid).own);
    await pause(50);
  }
  const tookMs = Date.now() - second;
  const order: number[] = [];
  for (let after = 0; ; ) {
    const { items } = await hub.events.list({ after, limit: 1_000 });
    for (const { kind, delivery = "" } of items) {
      const at = due.get(delivery);
      if (kind === "deadline_passed" && at !== undefined) order.push(at);
    }
    const last = items.at(-1);
    if (last === undefined) break;
    after = last.number;
  }
  const disordered = order.filter((at, n) => n > 0 && at < (order[n - 1] as number)).length;
  return {
    "ms until the last": tookMs,
    "carried out": order.length,
    "out of order": disordered,
    "MB before": before,
    "MB at most": largest,
  };
}
