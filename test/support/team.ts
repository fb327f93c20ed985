/** A small team on a SQLite file, and the check that a refused call stored nothing. */
import { expect, onTestFinished } from "vitest";
import { type Agent, type Hub, type HubOptions, openHub } from "../../src/index.ts";
import { type ExpectedRefusal, refused } from "./refusal.ts";
import { dumpStore } from "./store-dump.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface Team {
  readonly file: string;
  readonly hub: Hub;
  readonly planner: Agent;
  readonly coder: Agent;
}

/** Opens a team that is removed when the test ends. */
export async function openTeam(options: HubOptions = {}): Promise<Team> {
  const folder = temporaryFolder();
  const file = folder.file("hub.db");
  const hub = await openHub(`sqlite:${file}`, options);
  onTestFinished(async () => {
    await hub.close();
    folder[Symbol.dispose]();
  });
  const planner = await hub.agent("planner", { role: "planner", aliases: ["architect"] });
  const coder = await hub.agent("coder", { role: "coder", aliases: ["dev"] });
  return { file, hub, planner, coder };
}

/** Expects a call to be refused and every row of the file to stay the same. */
export async function refusedWithoutTrace(
  file: string,
  act: () => unknown,
  expected: ExpectedRefusal,
) {
  const before = dumpStore(file);
  const error = await refused(act, expected);
  expect(dumpStore(file)).toEqual(before);
  return error;
}
