/**
 * One of many processes on one store: waits until all are ready, does its part and reports every
 * acknowledgement. Usage: `crowd-child.ts <part> <address> <start file> <name> <hubs> <share>`
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, type Hub, openHub, type Work } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";
import {
  APPENDS,
  CALLERS,
  type CrowdFact,
  type CrowdPart,
  FIRST,
  HANDOFFS,
  laterStart,
} from "./crowd-facts.ts";

/** Number of empty polls after which a racer checks whether all work is done. */
const EMPTY_POLLS = 8;

const [part = "", address = "", start = "", name = "", hubs, share] = process.argv.slice(2);
const say = (fact: CrowdFact): void => sayLine(fact);
const parts: Record<CrowdPart, (hub: Hub) => Promise<void>> = {
  open,
  append,
  race,
  "open-append": openAppend,
};

/** High enough that no call fails on a slow machine: only a deadlock would reach this limit. */
const PATIENT = { limits: { busyMs: 500_000 } };

/** Number of deliveries that this process has accepted. */
let taken = 0;

/** `append` and `race` open the store before the start; the other parts open it after the start. */
const opened = part.startsWith("open") ? undefined : await openHub(address, PATIENT);
say({ kind: "ready" });
await fileExists(start);
await Promise.all(Array.from({ length: Number(hubs) }, doPart));

async function doPart(): Promise<void> {
  try {
    await using hub = opened ?? (await openHub(address, PATIENT));
    await parts[part as CrowdPart](hub);
  } catch (error) {
    say({ kind: "error", message: error instanceof Error ? (error.stack ?? "") : String(error) });
  }
}

async function open(hub: Hub): Promise<void> {
  const agent = await hub.agent(name, { role: "opener" });
  const { id, seq } = await agent.remember({ content: `${name} was here` });
  say({ kind: "remembered", id, seq });
}

/** Opens the store, and starts to append when every process has opened it. */
async function openAppend(hub: Hub): Promise<void> {
  await open(hub);
  if (name === FIRST) await hub.agent("reader", { role: "reader" });
  say({ kind: "opened" });
  await fileExists(laterStart(start));
  await append(hub);
}

async function fileExists(file: string): Promise<void> {
  while (!existsSync(file)) await sleep(2);
}

/** Appends from several callers at once, like a program with several agents. */
async function append(hub: Hub): Promise<void> {
  const agent = await hub.agent(name, { role: "writer" });
  let next = 0;
  const call = async (): Promise<void> => {
    while (next < APPENDS) {
      const n = next++;
      const { id, seq } = await agent.remember({ content: `${name} says ${n}`, tags: [name] });
      say({ kind: "remembered", id, seq });
      if (n % (APPENDS / HANDOFFS) === 0) await handOver(agent, n);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
}

async function handOver(agent: Agent, n: number): Promise<void> {
  const sent = await agent.handoff({ to: "reader", task: `${name}-${n}`, intent: "Read it" });
  say({ kind: "sent", delivery: sent.id, envelope: sent.envelope.id });
}

/**
 * Accepts work as a session of one shared agent: half of the callers claim offers first, half
 * accept directly.
 */
async function race(hub: Hub): Promise<void> {
  const agent = await hub.agent("runner", { role: "runner" });
  await Promise.all([
    ...Array.from({ length: CALLERS }, () => untilDone(hub, () => agent.accept())),
    ...Array.from({ length: CALLERS }, () => untilDone(hub, () => firstOffer(agent))),
  ]);
}

async function firstOffer(agent: Agent): Promise<Work | undefined> {
  for await (const offer of agent.inbox({ wait: false })) return offer.accept();
  return undefined;
}

/**
 * Accepts until all work is done. A process that has its share pauses until the others have theirs.
 */
async function untilDone(hub: Hub, take: () => Promise<Work | undefined>): Promise<void> {
  for (let emptyPolls = 0; ; ) {
    if (taken >= Number(share)) await fileExists(laterStart(start));
    const work = await take();
    if (work === undefined) {
      emptyPolls++;
      if (emptyPolls % EMPTY_POLLS === 0 && (await isDone(hub))) return;
      await sleep(5);
      continue;
    }
    emptyPolls = 0;
    taken++;
    const { id: delivery, attempt } = work.delivery;
    say({ kind: "accepted", delivery, attempt });
    // Every third delivery is released once, so that second attempts are raced for too.
    if (attempt === 1 && Number(work.delivery.task.slice(1)) % 3 === 0) {
      await work.release();
      continue;
    }
    await work.complete();
    say({ kind: "completed", delivery, attempt });
  }
}

async function isDone(hub: Hub): Promise<boolean> {
  const { deliveries, byState } = await hub.deliveries.totals();
  return byState.completed === deliveries;
}
