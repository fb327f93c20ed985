/**
 * Runs the example: a feature from request to tested endpoint, by agents that communicate only
 * through Baton. They use no language model, but their work is real: files are written, read and
 * edited, and tests are run. One process runs all agents in turn, but nothing depends on that.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Agent, Hub } from "batonpass";
import { architect } from "./architect.ts";
import { coder } from "./coder.ts";
import { coordinator } from "./coordinator.ts";
import { registerMessages } from "./messages.ts";
import { nightly } from "./nightly.ts";
import type { Desk, Player } from "./player.ts";
import { Project } from "./project.ts";
import { reviewer } from "./reviewer.ts";
import { writeShared } from "./shared.ts";
import { tester } from "./tester.ts";

export { endsOf, messagesOf, storyOf } from "./story.ts";

export interface TeamOptions {
  /** The folder of the project. It must exist, and is not cleaned up. */
  readonly folder: string;
  /** Called between two turns; `idle` is true if no agent had work. */
  readonly between?: (idle: boolean) => Promise<void> | void;
}

const TASK = "users-api";
const INTENT = "A user by id, and all users as a PDF";

/** A run that is not finished after this many rounds is stuck. */
const MOST_ROUNDS = 1_000;
const IDLE_MS = 20;

const TEAM: readonly (readonly [role: string, player: Player])[] = [
  ["coordinator", coordinator],
  ["coder", coder],
  ["reviewer", reviewer],
  ["tester", tester],
  ["architect", architect],
];

/** Runs the example to its end. The store then contains everything that happened. */
export async function playTeam(hub: Hub, options: TeamOptions): Promise<{ readonly task: string }> {
  const { folder, between = sleepIfIdle } = options;
  const task = await freshTask(hub);
  const say = await registerMessages(hub);
  const project = new Project(folder);
  await project.begin();
  const owner = await prepareHub(hub);
  const desks: (readonly [Player, Desk])[] = [];
  for (const [role, player] of TEAM) {
    const agent = await hub.agent(role, { role });
    await agent.context.text(); // Read in full at the start, later only the changes.
    desks.push([player, { agent, project, say }]);
  }
  const nightlyTurn = await nightly(await hub.agent("nightly", { role: "ci" }), project);
  await owner.tasks.add({ task, to: "role:coordinator", intent: INTENT });

  for (let round = 0; round < MOST_ROUNDS; round++) {
    let idle = true;
    for (const [player, desk] of desks) {
      if (!(await takeTurn(player, desk))) continue;
      idle = false;
      await between(false);
    }
    await nightlyTurn();
    if ((await hub.tasks.get(task)).closed !== undefined) return { task };
    if (idle) await between(true);
  }
  throw new Error(`${task} did not finish`);
}

/** Returns an unused task name, so that the example can run again on the same store. */
async function freshTask(hub: Hub, n = 1): Promise<string> {
  const task = n === 1 ? TASK : `${TASK}-${n}`;
  return (await hub.tasks.line(task)).length === 0 ? task : freshTask(hub, n + 1);
}

/** Registers the requester, writes the shared context and sets the failure rules. */
async function prepareHub(hub: Hub): Promise<Agent> {
  await writeShared(await hub.agent("coordinator", { role: "coordinator" }));
  await hub.failures.setRule("missing-type", {
    when: { type: "missing_type" },
    then: { reroute: "role:architect" },
    reason: "The architect knows the data and defines its types",
  });
  return hub.agent("owner", { role: "owner" });
}

/** Processes the agent's next delivery, if any. Unsettled work is released. */
async function takeTurn(player: Player, desk: Desk): Promise<boolean> {
  await using work = await desk.agent.accept();
  if (work === undefined) return false;
  await player(work, desk);
  return true;
}

async function sleepIfIdle(idle: boolean): Promise<void> {
  if (idle) await sleep(IDLE_MS);
}
