/** The watch on processes that hold work: what it asks the system, and when it wakes a wait. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type HolderWatch, holderWatchOf } from "../../../src/delivery/receive/holder-watch.ts";
import type { Workspace } from "../../../src/workspace/workspace.ts";
import { stopTimers } from "../../support/hub/asleep.ts";
import { openTwo, take } from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";

/** Longer than the pause between two readings. */
const READING_MS = 1_000;

describe("the watch on holders", () => {
  let ended: Set<string>;
  let asked: string[];
  let woken: string[];

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    [ended, asked, woken] = [new Set(), [], []];
  });

  afterEach(() => void vi.useRealTimers());

  /** Returns a watch that has read the holders once, and the workspace. */
  async function watching(
    ...holders: string[]
  ): Promise<{ readonly watch: HolderWatch; readonly workspace: Workspace }> {
    const processes = {
      self: "self",
      isGone: (process: string) => {
        asked.push(process);
        return ended.has(process);
      },
      isRunning: (process: string) => !ended.has(process) && process !== "elsewhere",
    };
    const store = { listProcesses: async () => holders };
    const workspace = { root: {}, name: "default", processes, store } as unknown as Workspace;
    const watch = holderWatchOf(workspace);
    expect(await watch.findDead(workspace)).toEqual([]); // The first call does not read.
    vi.advanceTimersByTime(READING_MS);
    await watch.findDead(workspace);
    asked.length = 0;
    return { watch, workspace };
  }

  const waiter = (name: string) => () => void woken.push(name);

  it("wakes one waiter when a holder has ended, which then reads at once [DLV-6]", async () => {
    const { watch, workspace } = await watching("p1", "p2");
    watch.addWaiter(waiter("one"));
    watch.addWaiter(waiter("two"));
    vi.advanceTimersByTime(500);
    expect(woken).toEqual([]);
    ended.add("p2");
    vi.advanceTimersByTime(100);
    expect(woken).toEqual(["one"]);
    expect(await watch.findDead(workspace)).toEqual(["p2"]);
  });

  it("wakes again for the next holder that ends [DLV-6]", async () => {
    const { watch, workspace } = await watching("p1", "p2");
    watch.addWaiter(waiter("one"));
    ended.add("p2");
    vi.advanceTimersByTime(100);
    await watch.findDead(workspace);
    ended.add("p1");
    vi.advanceTimersByTime(100);
    expect(woken).toEqual(["one", "one"]);
  });

  it("goes on checking while a waiter is removed and added more often than it checks [DLV-6]", async () => {
    const { watch } = await watching("p1");
    const one = waiter("one");
    ended.add("p1");
    for (let ms = 0; ms < 100; ms += 10) {
      watch.removeWaiter(one);
      watch.addWaiter(one);
      vi.advanceTimersByTime(10);
    }
    expect(woken).toEqual(["one"]);
  });

  it("asks nothing without a waiter", async () => {
    const { watch } = await watching("p1");
    const wake = waiter("one");
    watch.addWaiter(wake);
    watch.removeWaiter(wake);
    vi.advanceTimersByTime(10_000);
    expect(asked).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("asks nothing about itself and about processes on other machines", async () => {
    const { watch } = await watching("self", "elsewhere");
    watch.addWaiter(waiter("one"));
    vi.advanceTimersByTime(10_000);
    expect(asked).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("checks many holders less often, so that its cost stays the same", async () => {
    const { watch } = await watching(...Array.from({ length: 80 }, (_, n) => `p${n}`));
    watch.addWaiter(waiter("one"));
    vi.advanceTimersByTime(10_000);
    expect(asked).toHaveLength(80 * 10);
  });
});

it("a wait that sleeps gets the work of an ended process without a poll [DLV-6]", async () => {
  const ended = new Set<string>();
  let readings = 0;
  const isGone = (process: string) => ended.has(process);
  const isRunning = (process: string) => {
    readings++;
    return !ended.has(process);
  };
  const [here, there] = await openTwo(
    "sqlite",
    { processes: { self: "here", isGone } },
    { processes: { self: "there", isGone, isRunning } },
  );
  const ada = await here.agent("ada", {});
  const holder = await here.agent("ben", {});
  const sent = await ada.handoff({ to: "ben", task: "t", intent: "Go" });
  await take(holder);
  const ben = await there.agent("ben");
  const waiting = ben.accept({ wait: true });
  await until("the wait has read the holders", () => readings > 0);
  await stopTimers().asleep(); // From now on it does not poll.
  ended.add("here");
  expect(await waiting).toMatchObject({ id: sent.id, delivery: { attempt: 2 } });
});
