/**
 * Waking across processes on one SQLite file. The processes here do nothing but listen: no inbox,
 * no timer, no look of their own. What they say, they say because another one's commit called them.
 */
import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import { type Hub, LocalHub } from "../../../src/index.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { startChild } from "../../support/child.ts";
import { tempFolder } from "../../support/hub/support.ts";
import { SENDS, type WakingFact, type WakingPart } from "./waking-facts.ts";

const CHILD = new URL("./waking-child.ts", import.meta.url);
const PROCESSES = ["ada", "ben", "cyd", "dot"];
const WAIT = { timeout: 60_000, interval: 5 };
/** A process may take long to start on a busy machine, and four of them longer. */
const PATIENCE = { timeout: 180_000 };

describe("a commit in one process", PATIENCE, () => {
  it("wakes who listens for its receiver in another [DLV-13]", async () => {
    const { file, send } = await scene();
    const ben = listener(file, "default", "ben");
    await ben.says("ready");
    expect(ben.facts("woken")).toEqual([]);
    for (let times = 0; times < 20; times++) await ben.isWokenBy(() => send("ben"));
  });

  it("wakes nobody else: neither another agent's listener nor another workspace's [DLV-13]", async () => {
    const { file, send } = await scene();
    const here = listener(file, "default", "ben", "cyd");
    const elsewhere = listener(file, "elsewhere", "ada", "ben", "cyd");
    await Promise.all([here.says("ready"), elsewhere.says("ready")]);
    await send("cyd");
    await here.says("woken");
    await send("ada", "elsewhere");
    await elsewhere.says("woken");
    // Rings are heard in their order: had the one for cyd woken others, they would have said so.
    expect(here.woken()).toEqual(["cyd"]);
    expect(elsewhere.woken()).toEqual(["ada"]);
  });

  it("wakes its own listeners once, not again when the bell is heard", async () => {
    const { file, store, send } = await scene();
    const other = await open(file);
    other.onWake({ workspace: "default", agent: "ada" }, () => {}); // So that bells are rung.
    const heard: string[] = [];
    for (const agent of ["ben", "cyd"]) {
      store.onWake({ workspace: "default", agent }, () => heard.push(agent));
    }
    for (let n = 0; n < 3; n++) await send("ben");
    // The next ring comes from outside, and after those.
    await sending(new LocalHub(other))("cyd");
    await expect.poll(() => heard, WAIT).toContain("cyd");
    expect(heard.filter((agent) => agent === "ben")).toHaveLength(3);
  });

  it("wakes who has opened the file by another name [DLV-13]", async () => {
    const { file, folder, send } = await scene();
    symlinkSync(file, join(folder, "other-name.db"));
    const ben = listener(join(folder, "other-name.db"), "default", "ben");
    await ben.says("ready");
    await send("ben");
    await ben.says("woken");
  });
});

describe("four processes that ring at once", PATIENCE, () => {
  it.for([
    { how: "each for the others", names: PROCESSES },
    { how: "all for the same agent", names: ["ada"] },
  ])("$how: nobody misses the last ring [DLV-13]", async ({ names }) => {
    const { file, folder } = await scene();
    const start = join(folder, "start");
    const receiversOf = (name: string) =>
      names.length === 1 ? names : names.filter((other) => other !== name);
    const senders = names.length === 1 ? PROCESSES.length : PROCESSES.length - 1;
    const processes = PROCESSES.map((_, n) => {
      const name = names[n % names.length] ?? "";
      const expected = `${senders * SENDS}`;
      return child("exchange", [file, start, name, expected, ...receiversOf(name)]);
    });
    await Promise.all(processes.map((each) => each.says("ready")));
    writeFileSync(start, "");
    await Promise.all(processes.map((each) => each.says("complete")));
  });
});

describe("the folder of bells", PATIENCE, () => {
  it("is made by the first who listens, and by nobody else", async () => {
    const { file, store, send } = await scene();
    await send("ben");
    await store.listAgents("default");
    expect(existsSync(`${file}.bells`)).toBe(false);
    const stop = store.onWake({ workspace: "default", agent: "ben" }, () => {});
    expect(bellsOf(file)).toHaveLength(1);
    stop();
    await send("cyd");
    expect(bellsOf(file)).toHaveLength(1);
  });

  it("is not used by one who is alone with the store, until others listen", async () => {
    const { file, store, send } = await scene();
    store.onWake({ workspace: "default", agent: "ben" }, () => {});
    const [bell = ""] = bellsOf(file);
    utimesSync(bell, 1, 1);
    await send("ben");
    expect(statSync(bell).mtimeMs).toBe(1_000);
    const ben = listener(file, "default", "ben");
    await ben.says("ready");
    await send("ben");
    await ben.says("woken");
    expect(statSync(bell).mtimeMs).not.toBe(1_000);
  });

  it("is used always where others cannot be counted", async () => {
    const { file, store, send } = await scene();
    store.onWake({ workspace: "default", agent: "ben" }, () => {});
    const [bell = ""] = bellsOf(file);
    writeFileSync(join(`${file}.bells`, "listeners"), "no links here");
    utimesSync(bell, 1, 1);
    await send("ben");
    expect(statSync(bell).mtimeMs).not.toBe(1_000);
  });

  it("does not count those who were killed for long, nor those who have closed", async () => {
    const { file, store } = await scene();
    const counted = () => readdirSync(`${file}.bells`).filter((name) => /^listeners\./.test(name));
    const killed = listener(file, "default", "ben");
    await killed.says("ready");
    killed.kill();
    await killed.ended;
    const [stale] = counted();
    expect(stale).toBeDefined();
    store.onWake({ workspace: "default", agent: "ben" }, () => {});
    expect(counted()).toHaveLength(1);
    expect(counted()).not.toContain(stale);
    await store.close();
    expect(counted()).toEqual([]);
  });

  it("can be removed: it is made anew, and rings again [DLV-13]", async () => {
    const { file, send } = await scene();
    const ben = listener(file, "default", "ben");
    await ben.says("ready");
    rmSync(`${file}.bells`, { recursive: true, maxRetries: 10 });
    await send("ben");
    // Called when the bell hangs again: it may have missed something.
    await ben.says("woken");
    for (let times = 0; times < 4; times++) await ben.isWokenBy(() => send("ben"));
  });

  it.for([
    { what: "a bell", which: /^[0-9a-f]{32}$/ },
    { what: "what listeners are counted by", which: /^listeners$/ },
    { what: "a listener's own mark", which: /^listeners\./ },
  ])("can lose $what, which is made anew: rings are heard again [DLV-13]", async ({ which }) => {
    const { file, send } = await scene();
    const ben = listener(file, "default", "ben");
    await ben.says("ready");
    for (const name of readdirSync(`${file}.bells`).filter((each) => which.test(each))) {
      rmSync(join(`${file}.bells`, name));
    }
    await ben.says("woken");
    for (let times = 0; times < 4; times++) await ben.isWokenBy(() => send("ben"));
  });

  it("can be removed while nobody watches: who rings afterwards rings the new one [DLV-13]", async () => {
    const { file, store, send } = await scene();
    store.onWake({ workspace: "default", agent: "ben" }, () => {})();
    rmSync(`${file}.bells`, { recursive: true, maxRetries: 10 });
    const ben = listener(file, "default", "ben");
    await ben.says("ready");
    await send("ben");
    await ben.says("woken");
  });

  it("does not bring back a store that was removed", async () => {
    const { folder, store } = await scene();
    const stop = store.onWake({ workspace: "default", agent: "ben" }, () => {});
    rmSync(folder, { recursive: true });
    store.onWake({ workspace: "default", agent: "cyd" }, () => {})();
    stop();
    store.onWake({ workspace: "default", agent: "ben" }, () => {});
    expect(existsSync(folder)).toBe(false);
  });
});

describe("where bells cannot be had", PATIENCE, () => {
  it("something else in their place is left alone; writes and wake-ups at home go on", async () => {
    const { file, store, send } = await scene();
    writeFileSync(`${file}.bells`, "kept");
    await expectWokenAtHome(store, send);
    expect(readFileSync(`${file}.bells`, "utf8")).toBe("kept");
  });

  it("in a folder that may not be written, writes and wake-ups at home go on", async () => {
    const { file, folder, store, send } = await scene();
    await send("ben"); // What SQLite needs is open now.
    const isRoot = process.geteuid?.() === 0;
    chmodSync(folder, 0o555);
    if (isRoot) process.seteuid?.(65_534);
    try {
      await expectWokenAtHome(store, send);
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(folder, 0o755);
    }
    expect(existsSync(`${file}.bells`)).toBe(false);
  });

  it.skipIf(process.platform === "win32")(
    "a process without a file handle left works on, and is woken once it has some again",
    async () => {
      const { file } = await scene();
      const limited = ["-c", 'ulimit -n 200; exec "$0" "$@"', process.execPath];
      const args = [fileURLToPath(CHILD), "starve", file, "ben"];
      const { stdout } = await promisify(execFile)("sh", [...limited, ...args], PATIENCE);
      expect(JSON.parse(stdout)).toEqual({ kind: "complete" });
    },
  );

  async function expectWokenAtHome(store: Store, send: (to: string) => Promise<unknown>) {
    let woken = 0;
    const stop = store.onWake({ workspace: "default", agent: "ben" }, () => {
      woken++;
    });
    await send("ben");
    await expect.poll(() => woken, WAIT).toBe(1);
    stop();
  }
});

describe("a program that listens", PATIENCE, () => {
  it("and forgets to close ends all the same", async () => {
    const { file } = await scene();
    const forgetful = child("forget", [file, "default", "ben"]);
    expect(await forgetful.ended).toEqual({ code: 0, signal: null, stderr: "" });
    expect(forgetful.facts("ready")).toHaveLength(1);
  });

  it("and stops, or closes, is not called any more, and can be stopped twice", async () => {
    const { file, store, send } = await scene();
    const heard: string[] = [];
    const stop = store.onWake({ workspace: "default", agent: "ben" }, () => heard.push("stopped"));
    stop();
    store.onWake({ workspace: "default", agent: "ben" }, () => heard.push("listening"));
    stop();
    await send("ben");
    await sending(new LocalHub(await open(file)))("ben");
    await expect.poll(() => heard.length, WAIT).toBeGreaterThanOrEqual(2);
    expect(new Set(heard)).toEqual(new Set(["listening"]));
    await store.close();
    store.onWake({ workspace: "default", agent: "ben" }, () => heard.push("closed"))();
  });
});

/** A store with agents in two workspaces, and how to hand something to one of them. */
async function scene() {
  const folder = tempFolder();
  const file = join(folder, "hub.db");
  const store = await open(file);
  const hubs = {
    default: new LocalHub(store),
    elsewhere: new LocalHub(store, { workspace: "elsewhere" }),
  };
  for (const hub of Object.values(hubs)) {
    for (const name of PROCESSES) await hub.agent(name, { role: "worker" });
  }
  const send = (to: string, workspace: keyof typeof hubs = "default") =>
    sending(hubs[workspace])(to);
  return { folder, file, store, send };
}

/** The files of agents, without those that count who listens. */
function bellsOf(file: string): string[] {
  const names = readdirSync(`${file}.bells`).filter((name) => /^[0-9a-f]{32}$/.test(name));
  return names.map((name) => join(`${file}.bells`, name));
}

let sent = 0;
const sending =
  (hub: Hub) =>
  async (to: string): Promise<void> => {
    const dot = await hub.agent("dot");
    await dot.handoff({ to, task: `task-${sent++}`, intent: "Wake up" });
  };

async function open(file: string): Promise<Store> {
  const store = await openSqliteStore({ file, clock: systemClock, limits: DEFAULT_LIMITS });
  onTestFinished(() => store.close());
  return store;
}

function listener(file: string, workspace: string, ...agents: string[]) {
  return child("listen", [file, workspace, ...agents]);
}

/** A process and what it has said so far; killed with the test. */
function child(part: WakingPart, args: readonly string[]) {
  const said: WakingFact[] = [];
  const started = startChild(CHILD, [part, ...args], (line) => {
    said.push(JSON.parse(line) as WakingFact);
  });
  onTestFinished(async () => {
    started.kill();
    await started.ended;
  });
  const facts = (kind: WakingFact["kind"]) => said.filter((fact) => fact.kind === kind);
  const says = (kind: WakingFact["kind"], times = 1) =>
    expect.poll(() => facts(kind).length, WAIT).toBeGreaterThanOrEqual(times);
  return {
    facts,
    says,
    isWokenBy: async (act: () => Promise<unknown>) => {
      const before = facts("woken").length;
      await act();
      await says("woken", before + 1);
    },
    /** Who was called, each once. */
    woken: () => [...new Set(said.flatMap((fact) => (fact.kind === "woken" ? fact.agent : [])))],
    kill: () => started.kill(),
    ended: started.ended,
  };
}
