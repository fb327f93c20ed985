/**
 * One process of a chaos run: sends, accepts, renews, fails, asks and cancels, and reports every
 * acknowledgement until it is killed. Usage: `child.ts <address> <seed>`
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, isBatonError, openHub, type Sent, type Work } from "../../../src/index.ts";
import { sayLine } from "../../support/child.ts";
import { randomFrom } from "../../support/random.ts";
import { untilSettled } from "../../support/until-settled.ts";
import { AGENTS, CHANNEL, CHAOS_LIMITS, type ChaosFact, type Ending, ROLE } from "./facts.ts";

const CALLERS = 3;
const PLENTY = 40;
/** Errors that are expected when a call is late or one of many. */
const EXPECTED = ["circuit_open", "inbox_full", "not_open"];
const TOO_LATE = ["lease_lost", "cancelled"];

const [address = "", seed = "0"] = process.argv.slice(2);
const random = randomFrom(Number(seed));
const say = (fact: ChaosFact): void => sayLine(fact);

const hub = await openHub(address, {
  limits: CHAOS_LIMITS,
  random: () => random.next() * 0.05, // Retries become due within the run.
});
const agents = await Promise.all(AGENTS.map((name) => hub.agent(name, { role: ROLE })));
await hub.channels.set(CHANNEL);
await Promise.all(agents.slice(0, 3).map((agent) => agent.channels.subscribe(CHANNEL)));
let tasks = 0;

say({ kind: "under-way" });
await Promise.all(Array.from({ length: CALLERS }, () => workUntilKilled()));

async function workUntilKilled(): Promise<never> {
  for (;;) {
    try {
      await anything();
    } catch (error) {
      if (isBatonError(error) && EXPECTED.includes(error.code)) continue;
      say({ kind: "error", message: error instanceof Error ? (error.stack ?? "") : String(error) });
    }
  }
}

async function anything(): Promise<void> {
  const agent = agents[random.below(agents.length)] as Agent;
  const dice = random.next();
  if (dice < 0.3) return handOver(agent);
  if (dice < 0.33) return cancelOne(agent);
  if (dice < 0.36) return redriveOne(agent);
  if (dice < 0.4) return answerOne(agent);
  await takeOver(agent);
}

async function handOver(agent: Agent): Promise<void> {
  const open = (await agent.deliveries.waiting({ limit: PLENTY })).items;
  if (open.length === PLENTY) return; // Enough work is open: accept instead of sending more.
  const task = `task-${seed}-${++tasks}`;
  const draft = { task, intent: "Get through the chaos", policy: policy() };
  const dice = random.next();
  const sent: Sent =
    dice < 0.1
      ? await agent.channels.publish(CHANNEL, draft)
      : await agent.handoff({ ...draft, to: dice < 0.5 ? `role:${ROLE}` : random.pick(AGENTS) });
  say({ kind: "sent", deliveries: sent.each.map(({ id }) => id) });
  if (random.chance(0.05)) await join(agent, sent);
}

function policy() {
  return {
    ...(random.chance(0.2) && { acceptMs: 300 + random.below(2_000) }),
    ...(random.chance(0.2) && { fallback: [random.pick(AGENTS)] }),
    ...(random.chance(0.1) && { deadlineMs: 500 + random.below(5_000) }),
  };
}

async function join(agent: Agent, sent: Sent): Promise<void> {
  const of = sent.each.map(({ id }) => id);
  const joined = await agent.handoffs.join(of, {
    to: random.pick(AGENTS),
    task: `join-${seed}-${++tasks}`,
    intent: "Bring it together",
    need: random.chance(0.5) ? "all" : "any",
  });
  say({ kind: "sent", deliveries: [joined.id] });
}

async function cancelOne(agent: Agent): Promise<void> {
  const [first] = (await agent.deliveries.waiting({ limit: 1 })).items;
  if (first === undefined) return;
  for (const { id } of await agent.deliveries.cancel(first.delivery.id, "Not any more")) {
    say({ kind: "decided", delivery: id });
  }
}

async function redriveOne(agent: Agent): Promise<void> {
  const [letter] = (await hub.deadLetters.list({ limit: 1 })).items;
  if (letter === undefined) return;
  const { id } = await agent.deadLetters.redrive(letter.delivery.id);
  say({ kind: "decided", delivery: id });
}

async function answerOne(agent: Agent): Promise<void> {
  const [asked] = await agent.questions.list();
  if (asked === undefined) return;
  await agent.questions.answer(asked.delivery.id, "Yes");
  say({ kind: "decided", delivery: asked.delivery.id });
}

async function takeOver(agent: Agent): Promise<void> {
  const work = await agent.accept();
  if (work === undefined) return sleep(5 + random.below(20));
  const { id: delivery, attempt } = work.delivery;
  say({ kind: "accepted", delivery, attempt, leaseUntil: work.delivery.leaseUntil });
  try {
    if (random.chance(0.3)) await work.note("on it");
    if (random.chance(0.4)) await linger(work);
    await settle(work);
  } catch (error) {
    if (!isBatonError(error) || !TOO_LATE.includes(error.code)) throw error;
    say({ kind: "refused", delivery, attempt, code: error.code });
  }
}

/** Works for a while, and reports each renewal of the lease. */
async function linger(work: Work): Promise<void> {
  for (let beats = random.below(4); beats >= 0; beats--) {
    await sleep(random.below(200));
    await work.renew();
    const { id: delivery, attempt, leaseUntil } = work.delivery;
    say({ kind: "renewed", delivery, attempt, leaseUntil });
  }
}

async function settle(work: Work): Promise<void> {
  const { id: delivery, attempt } = work.delivery;
  const as = ending();
  const outcome = await untilSettled(() => end(work, as));
  say({ kind: "settled", delivery, attempt, as });
  if (outcome.kind === "sent") {
    say({ kind: "sent", deliveries: outcome.each.map(({ id }) => id) });
  }
}

function ending(): Ending {
  const dice = random.next();
  if (dice < 0.7) return "completed";
  if (dice < 0.85) return "failed";
  if (dice < 0.9) return "declined";
  return dice < 0.95 ? "released" : "asked";
}

async function end(work: Work, as: Ending) {
  switch (as) {
    case "completed":
      if (random.chance(0.3)) return work.handoff({ to: random.pick(AGENTS) });
      return work.complete({ summary: "done" });
    case "failed":
      return work.fail({
        message: "no luck",
        class: random.chance(0.8) ? "retryable" : "permanent",
      });
    case "declined":
      return work.decline("not mine");
    case "asked":
      return work.clarify("Really?");
    case "released":
      await work.release();
      return { kind: "released" } as const;
  }
}
