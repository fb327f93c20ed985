/**
 * A random workspace with records of every kind: agents with and without keys, private and public
 * memories, relations, branches, traces (some of them pruned), redactions, handoffs that are
 * waiting, held, failed, answered or given up, and entries. The same seed makes the same calls.
 */
import { type Agent, generateKey, type Hub, type Memory, type Work } from "../../src/index.ts";
import type { Random } from "./random.ts";

const NAMES = ["ada", "ben", "cyd", "dee"] as const;
const TASKS = ["auth", "docs", "größe", "release"] as const;
const TEXTS = [
  "plain",
  "Grüße — 你好 🎉 \u{1f469}\u200d\u{1f680}",
  'quotes " and \\ backslashes \\n',
  "lines\n\n# heading\n- bullet\n<!-- comment -->\n",
  "\ttabs\tand trailing  ",
  "x".repeat(5_000),
] as const;

interface Cast {
  readonly hub: Hub;
  readonly random: Random;
  readonly agents: readonly [Agent, ...Agent[]];
  readonly memories: Memory[];
  readonly held: Work[];
}

export async function fillWorkspace(hub: Hub, random: Random, steps: number): Promise<void> {
  const agents: Agent[] = [];
  for (const name of NAMES) {
    const signs = random.chance(0.5) && !hub.store.startsWith("http"); // Keys cannot be sent.
    const key = signs ? { key: generateKey() } : {};
    const role = name === "ada" ? "coder" : random.pick(["coder", "tester"]);
    agents.push(await hub.agent(name, { role, owner: "pat", aliases: [`${name}-bot`], ...key }));
  }
  await hub.channels.set("news");
  await agents[0]?.channels.subscribe("news");
  const cast: Cast = { hub, random, agents: agents as never, memories: [], held: [] };
  for (let n = 0; n < steps; n++) await step(cast);
  if (random.chance(0.5)) {
    await hub.settings.update({ retention: { traces: { sessions: 1 }, events: { keep: 10 } } });
    await hub.memories.prune();
  }
}

async function step(cast: Cast): Promise<void> {
  const { random } = cast;
  const dice = random.below(14);
  if (dice < 4) return rememberOne(cast);
  if (dice < 7) return handOver(cast);
  if (dice < 10) return takeOver(cast);
  if (dice === 10) return branchOff(cast);
  if (dice === 11) return trace(cast);
  if (dice === 12) return redact(cast);
  await random
    .pick(cast.agents)
    .effects.run(`key-${random.below(5)}`, () => ({ n: random.below(9) }));
}

async function rememberOne({ random, agents, memories }: Cast): Promise<void> {
  const agent = random.pick(agents);
  const scope = random.chance(0.3)
    ? { scope: random.pick(["agent", "session", "user", "team"] as const) }
    : {};
  const to = memories.length > 0 ? memories[random.below(memories.length)]?.id : undefined;
  const kind = random.pick(["supersedes", "supports", "corrects", "derived-from"] as const);
  const memory = await agent.remember({
    content: random.pick(TEXTS),
    type: random.pick(["fact", "decision", "lesson"]),
    task: random.pick(TASKS),
    data: { 10: "ten", 9: "nine", deep: { list: [1, 2.5, null] } },
    ...(to === undefined ? {} : { relations: [{ kind, to }] }),
    ...scope,
  });
  if (memory.scope === undefined || memory.scope === "team") memories.push(memory);
}

async function handOver({ random, agents, memories }: Cast): Promise<void> {
  const to = random.pick([...NAMES, "role:coder"] as const);
  const refs = memories.length > 0 && random.chance(0.5) ? [memories.at(-1)?.id ?? ""] : [];
  await random.pick(agents).handoff({
    ...{ to, task: random.pick(TASKS), intent: random.pick(TEXTS), refs },
    priority: random.pick(["low", "normal", "urgent"] as const),
    policy: { attempts: 1 + random.below(2) },
  });
}

async function takeOver({ random, agents, held }: Cast): Promise<void> {
  const work = await random.pick(agents).accept();
  if (work === undefined) return;
  const dice = random.below(6);
  if (dice === 0) held.push(work);
  else if (dice === 1) await work.complete({ summary: random.pick(TEXTS) });
  else if (dice === 2) await work.fail({ message: "no luck" });
  else if (dice === 3) await work.fail({ message: "never", class: "permanent" });
  else if (dice === 4) await work.decline("not mine");
  else await work.release();
}

async function branchOff({ random, agents }: Cast): Promise<void> {
  const agent = random.pick(agents);
  const name = `try/${random.below(1_000_000)}`;
  const branch = await agent.branches.create(name);
  await branch.remember({ content: "on a branch" });
  const dice = random.below(3);
  if (dice === 0) await agent.branches.merge(name);
  if (dice === 1) await agent.branches.abandon(name, "led nowhere");
}

async function trace({ random, agents }: Cast): Promise<void> {
  const agent = random.pick(agents);
  await agent.trace({ kind: "tool", name: "grep", content: random.pick(TEXTS) });
  await agent.traces.flush();
}

async function redact({ random, agents, memories }: Cast): Promise<void> {
  const [victim] = memories.splice(random.below(memories.length || 1), 1);
  if (victim !== undefined)
    await random.pick(agents).memories.redact({ ids: [victim.id] }, "a secret");
}
