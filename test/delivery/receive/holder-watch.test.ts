/** The watch on processes that hold work: what it asks the system, and when it wakes a wait. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type HolderWatch, holderWatchOf } from "../../../src/delivery/receive/holder-watch.ts";
import type { Workspace } from "../../../src/workspace/workspace.ts";

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

  const sleeper = (name: string) => () => void woken.push(name);

  it("wakes one sleeping wait when a holder has ended, which then reads at once [DLV-6]", async () => {
    const { watch, workspace } = await watching("p1", "p2");
    watch.asleep(sleeper("one"));
    watch.asleep(sleeper("two"));
    vi.advanceTimersByTime(500);
    expect(woken).toEqual([]);
    ended.add("p2");
    vi.advanceTimersByTime(100);
    expect(woken).toEqual(["one"]);
    expect(await watch.findDead(workspace)).toEqual(["p2"]);
  });

  it("wakes again for the next holder that ends [DLV-6]", async () => {
    const { watch, workspace } = await watching("p1", "p2");
    watch.asleep(sleeper("one"));
    ended.add("p2");
    vi.advanceTimersByTime(100);
    await watch.findDead(workspace);
    ended.add("p1");
    vi.advanceTimersByTime(100);
    expect(woken).toEqual(["one", "one"]);
  });

  it("goes on checking while waits wake and sleep more often than it checks [DLV-6]", async () => {
    const { watch } = await watching("p1");
    const [one, two] = [sleeper("one"), sleeper("two")];
    watch.asleep(one);
    ended.add("p1");
    for (let ms = 0; ms < 100; ms += 10) {
      watch.asleep(two);
      vi.advanceTimersByTime(10);
      watch.awake(two);
    }
    expect(woken).toEqual(["one"]);
  });

  it("asks nothing while no wait sleeps", async () => {
    const { watch } = await watching("p1");
    const wake = sleeper("one");
    watch.asleep(wake);
    watch.awake(wake);
    vi.advanceTimersByTime(10_000);
    expect(asked).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("asks nothing about itself and about processes on other machines", async () => {
    const { watch } = await watching("self", "elsewhere");
    watch.asleep(sleeper("one"));
    vi.advanceTimersByTime(10_000);
    expect(asked).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("checks many holders less often, so that its cost stays the same", async () => {
    const { watch } = await watching(...Array.from({ length: 80 }, (_, n) => `p${n}`));
    watch.asleep(sleeper("one"));
    vi.advanceTimersByTime(10_000);
    expect(asked).toHaveLength(80 * 10);
  });
});
