/** A team and helpers that the tests of the task queue share. */
import type { Agent, Hub, HubOptions, NewTask, TaskInfo } from "../../../src/index.ts";
import { openFresh, type StoreName, take } from "../../support/hub/support.ts";

export async function team(store: StoreName, options: HubOptions = {}) {
  const hub = await openFresh(store, options);
  return { hub, ...(await register(hub)) };
}

export async function register(hub: Hub) {
  return {
    lead: await hub.agent("lead", { role: "lead" }),
    coder: await hub.agent("coder", { role: "coder" }),
    tester: await hub.agent("tester", { role: "tester" }),
  };
}

export const task = (name: string, rest: Partial<NewTask> = {}): NewTask => ({
  task: name,
  to: "role:coder",
  intent: `Do ${name}`,
  ...rest,
});

export const finish = async (agent: Agent, name: string, summary = `${name} is finished`) =>
  (await take(agent, { task: name })).complete({ summary });

export const names = (tasks: readonly TaskInfo[]): string[] => tasks.map((each) => each.task);

/** Returns the names of the tasks on a board, by state. */
export async function onBoard(hub: Hub, query: Parameters<Hub["tasks"]["board"]>[0] = {}) {
  const { items } = await hub.tasks.board(query);
  const inState = (state: TaskInfo["state"]) => names(items.filter((each) => each.state === state));
  return {
    open: inState("open"),
    blocked: inState("blocked"),
    in_progress: inState("in_progress"),
  };
}

/** Returns the contents of the memories that closed a task. */
export const closings = async (hub: Hub, name: string) =>
  (await hub.memories.recent({ task: name, tag: "task-closed" })).items.map(
    ({ content }) => content,
  );
