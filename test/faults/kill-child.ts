/**
 * The process that is killed: writes to the store from several concurrent callers, and reports each
 * acknowledgement as soon as it arrives. Usage: `kill-child.ts <address> <seed>`
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, isBatonError, type Memory, openHub, type Work } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";
import { present } from "../support/present.ts";
import { randomFrom } from "../support/random.ts";
import { untilSettled } from "../support/until-settled.ts";
import { AGENTS, type Fact, KILL_LIMITS, type PlacedMemory } from "./kill-facts.ts";

const CALLERS = 8;
/** Makes retries due almost at once: a run cannot wait half a minute for the last retry. */
const BACKOFF_SHARE = 0.01;

const [address = "", seed = "0"] = process.argv.slice(2);
const random = randomFrom(Number(seed));
const say = (fact: Fact): void => sayLine(fact);

const hub = await openHub(address, {
  limits: KILL_LIMITS,
  random: () => random.next() * BACKOFF_SHARE,
});
const agents = await Promise.all(AGENTS.map((name) => hub.agent(name, { role: name })));
/** A record to refer to, and a task to extend. */
let known: string | undefined;
let task = `task-${seed}`;
let tasks = 0;

say({ kind: "under-way" });
await Promise.all(Array.from({ length: CALLERS }, () => workUntilKilled()));

async function workUntilKilled(): Promise<never> {
  for (;;) {
    try {
      await anything();
    } catch (error) {
      say({ kind: "error", message: error instanceof Error ? (error.stack ?? "") : String(error) });
    }
  }
}

function anything(): Promise<void> {
  const agent = agents[random.below(agents.length)] as Agent;
  const dice = random.next();
  if (dice < 0.25) return rememberOne(agent);
  if (dice < 0.35) return rememberMany(agent);
  return dice < 0.6 ? handOver(agent) : takeOver(agent);
}

function placed({ id, seq, digest, link }: Memory): PlacedMemory {
  return { id, seq, digest, link };
}

async function rememberOne(agent: Agent): Promise<void> {
  const memory = await agent.remember({
    content: `seen by ${agent.id} in run ${seed}`,
    tags: ["kill"],
    ...(known && { refs: [known], relations: [{ kind: "derived-from", to: known }] }),
  });
  say({ kind: "remembered", ...placed(memory) });
  known = memory.id;
}

async function rememberMany(agent: Agent): Promise<void> {
  const count = 2 + random.below(20);
  const inputs = Array.from({ length: count }, (_, n) => ({ type: "step", content: `step ${n}` }));
  for (const memory of await agent.remember(inputs)) say({ kind: "remembered", ...placed(memory) });
}

async function handOver(agent: Agent): Promise<void> {
  if (random.chance(0.8)) task = `task-${seed}-${++tasks}`;
  const sent = await agent.handoff({
    to: random.pick(AGENTS),
    task,
    intent: "Carry this through a kill",
    next: ["Complete it"],
    payload: { type: "kill", data: { filling: "x".repeat(random.below(4_000)) } },
    ...(known && { refs: [known] }),
  });
  const { id: delivery, envelope, digest, memory } = sent;
  say({ kind: "sent", delivery, envelope: envelope.id, digest, memory });
}

async function takeOver(agent: Agent): Promise<void> {
  const work = await agent.accept();
  if (work === undefined) return sleep(5);
  const { id: delivery, attempt } = work.delivery;
  say({ kind: "accepted", delivery, attempt, memory: present(work.delivery.acceptedBy) });
  try {
    if (random.chance(0.5)) await sleep(random.below(60));
    if (random.chance(0.5)) await note(work);
    await settle(work);
  } catch (error) {
    if (!isBatonError(error) || error.code !== "lease_lost") throw error;
    say({ kind: "lost", delivery, attempt });
  }
}

async function note(work: Work): Promise<void> {
  const { memory } = await work.note("half way");
  say({ kind: "noted", ...placed(memory) });
}

async function settle(work: Work): Promise<void> {
  const dice = random.next();
  if (dice < 0.6) await complete(work);
  else if (dice < 0.8) await handOn(work);
  else if (dice < 0.92) await fail(work);
  else if (dice < 0.96) await decline(work);
  else await release(work);
}

async function complete(work: Work): Promise<void> {
  const { delivery } = await untilSettled(() => work.complete({ outputs: { answer: 42 } }));
  const { id, attempt, envelope, settledBy } = delivery;
  say({ kind: "completed", delivery: id, attempt, envelope, memory: present(settledBy) });
}

async function handOn(work: Work): Promise<void> {
  const to = random.pick(AGENTS);
  const sent = await untilSettled(() => work.handoff({ to, action: "needs_review" }));
  const { id, envelope, digest, memory } = sent;
  const next = { delivery: id, envelope: envelope.id, digest, memory };
  say({ kind: "handed-on", delivery: work.id, attempt: work.delivery.attempt, next });
}

async function fail(work: Work): Promise<void> {
  const kind = random.chance(0.8) ? "retryable" : "permanent";
  const { delivery } = await untilSettled(() => work.fail({ message: "no luck", class: kind }));
  say({
    kind: "failed",
    delivery: work.id,
    attempt: work.delivery.attempt,
    memory: present(delivery.settledBy),
  });
}

async function decline(work: Work): Promise<void> {
  const { delivery } = await untilSettled(() => work.decline("not mine"));
  say({
    kind: "declined",
    delivery: work.id,
    attempt: work.delivery.attempt,
    memory: present(delivery.settledBy),
  });
}

async function release(work: Work): Promise<void> {
  await work.release();
  say({ kind: "released", delivery: work.id, attempt: work.delivery.attempt });
}
