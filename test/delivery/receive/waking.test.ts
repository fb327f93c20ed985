/**
 * Wake-ups across processes on one SQLite file. The child processes only listen: no inbox, no
 * timer, no polling. Everything they print is caused by a commit in another process.
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
/** A process can take long to start on a busy machine, and four of them longer. */
const PATIENCE = { timeout: 180_000 };

describe("a commit in one process", PATIENCE, () => {
  it("wakes a listener for its receiver in another process [DLV-13]", async () => {
    const { file, send } = await scene();
    const ben = listener(file, "default", "ben");
    await ben.says("ready");
    expect(ben.facts("woken")).toEqual([]);
    for (let times = 0; times < 20; times++) await ben.isWokenBy(() => send("ben"));
  });

  it("does not wake listeners of other agents or workspaces [DLV-13]", async () => {
    const { file, send } = await scene();
    const here = listener(file, "default", "ben", "cyd");
    const elsewhere = listener(file, "elsewhere", "ada", "ben", "cyd");
    await Promise.all([here.says("ready"), elsewhere.says("ready")]);
    await send("cyd");
    await here.says("woken");
    await send("ada", "elsewhere");
    await elsewhere.says("woken");
    // Wake-ups arrive in order: a wrong one would have arrived before these.
    expect(here.woken()).toEqual(["cyd"]);
    expect(elsewhere.woken()).toEqual(["ada"]);
  });

  it("wakes listeners in its own process once, not again through the bell file", async () => {
    const { file, store, send } = await scene();
    const other = await open(file);
    other.onWake({ workspace: "default", agent: "ada" }, () => {}); // Activates bell files.
    const wakeUps: string[] = [];
    for (const agent of ["ben", "cyd"]) {
      store.onWake({ workspace: "default", agent }, () => wakeUps.push(agent));
    }
    for (let n = 0; n < 3; n++) await send("ben");
    // This wake-up comes from another store, after the ones above.
    await sending(new LocalHub(other))("cyd");
    await expect.poll(() => wakeUps, WAIT).toContain("cyd");
    expect(wakeUps.filter((agent) => agent === "ben")).toHaveLength(3);
  });

  it("wakes a listener that opened the file by another name [DLV-13]", async () => {
    const { file, folder, send } = await scene();
    symlinkSync(file, join(folder, "other-name.db"));
    const ben = listener(join(folder, "other-name.db"), "default", "ben");
    await ben.says("ready");
    await send("ben");
    await ben.says("woken");
  });
});

describe("four processes sending at once", PATIENCE, () => {
  it.for([
    { how: "each to the others", names: PROCESSES },
    { how: "all to the same agent", names: ["ada"] },
  ])("$how: the last wake-up reaches every process [DLV-13]", async ({ names }) => {
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

describe("the bells folder", PATIENCE, () => {
  it("is created by the first listener, not by writing", async () => {
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

  it("is not written to while no other process listens", async () => {
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

  it("is always written to when listeners cannot be counted", async () => {
    const { file, store, send } = await scene();
    store.onWake({ workspace: "default", agent: "ben" }, () => {});
    const [bell = ""] = bellsOf(file);
    writeFileSync(join(`${file}.bells`, "listeners"), "no links here");
    utimesSync(bell, 1, 1);
    await send("ben");
    expect(statSync(bell).mtimeMs).not.toBe(1_000);
  });

  it("does not count listeners that were killed or closed", async () => {
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

  it("is recreated after it was removed, and wake-ups arrive again [DLV-13]", async () => {
    const { file, send } = await scene();
    const ben = listener(file, "default", "ben");
    await ben.says("ready");
    rmSync(`${file}.bells`, { recursive: true, maxRetries: 10 });
    await send("ben");
    // Woken when the bell file is recreated, since it may have missed a wake-up.
    await ben.says("woken");
    for (let times = 0; times < 4; times++) await ben.isWokenBy(() => send("ben"));
  });

  it.for([
    { what: "a bell file", which: /^[0-9a-f]{32}$/ },
    { what: "the file that counts listeners", which: /^listeners$/ },
    { what: "a listener's own file", which: /^listeners\./ },
  ])(
    "recreates $what after it was removed, and wake-ups arrive again [DLV-13]",
    async ({ which }) => {
      const { file, send } = await scene();
      const ben = listener(file, "default", "ben");
      await ben.says("ready");
      for (const name of readdirSync(`${file}.bells`).filter((each) => which.test(each))) {
        rmSync(join(`${file}.bells`, name));
      }
      await ben.says("woken");
      for (let times = 0; times < 4; times++) await ben.isWokenBy(() => send("ben"));
    },
  );

  it("wakes a new listener after it was removed while no process listened [DLV-13]", async () => {
    const { file, store, send } = await scene();
    store.onWake({ workspace: "default", agent: "ben" }, () => {})();
    rmSync(`${file}.bells`, { recursive: true, maxRetries: 10 });
    const ben = listener(file, "default", "ben");
    await ben.says("ready");
    await send("ben");
    await ben.says("woken");
  });

  it("is not recreated after the store was removed", async () => {
    const { folder, store } = await scene();
    const stop = store.onWake({ workspace: "default", agent: "ben" }, () => {});
    rmSync(folder, { recursive: true });
    store.onWake({ workspace: "default", agent: "cyd" }, () => {})();
    stop();
    store.onWake({ workspace: "default", agent: "ben" }, () => {});
    expect(existsSync(folder)).toBe(false);
  });
});

describe("without a usable bells folder", PATIENCE, () => {
  it("leaves a file in its place alone, and wakes listeners of the same process", async () => {
    const { file, store, send } = await scene();
    writeFileSync(`${file}.bells`, "kept");
    await expectLocalWakeUp(store, send);
    expect(readFileSync(`${file}.bells`, "utf8")).toBe("kept");
  });

  it("writes and wakes listeners of the same process in a read-only folder", async () => {
    const { file, folder, store, send } = await scene();
    await send("ben"); // Opens the files that SQLite needs.
    const isRoot = process.geteuid?.() === 0;
    chmodSync(folder, 0o555);
    if (isRoot) process.seteuid?.(65_534);
    try {
      await expectLocalWakeUp(store, send);
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(folder, 0o755);
    }
    expect(existsSync(`${file}.bells`)).toBe(false);
  });

  it.skipIf(process.platform === "win32")(
    "works without free file handles, and is woken once there are some again",
    async () => {
      const { file } = await scene();
      const limited = ["-c", 'ulimit -n 200; exec "$0" "$@"', process.execPath];
      const args = [fileURLToPath(CHILD), "starve", file, "ben"];
      const { stdout } = await promisify(execFile)("sh", [...limited, ...args], PATIENCE);
      expect(JSON.parse(stdout)).toEqual({ kind: "complete" });
    },
  );

  async function expectLocalWakeUp(store: Store, send: (to: string) => Promise<unknown>) {
    let woken = 0;
    const stop = store.onWake({ workspace: "default", agent: "ben" }, () => {
      woken++;
    });
    await send("ben");
    await expect.poll(() => woken, WAIT).toBe(1);
    stop();
  }
});

describe("a listening process", PATIENCE, () => {
  it("exits even if it does not close the store", async () => {
    const { file } = await scene();
    const forgetful = child("forget", [file, "default", "ben"]);
    expect(await forgetful.ended).toEqual({ code: 0, signal: null, stderr: "" });
    expect(forgetful.facts("ready")).toHaveLength(1);
  });

  it("is not woken after it stops listening, and can stop twice", async () => {
    const { file, store, send } = await scene();
    const wakeUps: string[] = [];
    const stop = store.onWake({ workspace: "default", agent: "ben" }, () =>
      wakeUps.push("stopped"),
    );
    stop();
    store.onWake({ workspace: "default", agent: "ben" }, () => wakeUps.push("listening"));
    stop();
    await send("ben");
    await sending(new LocalHub(await open(file)))("ben");
    await expect.poll(() => wakeUps.length, WAIT).toBeGreaterThanOrEqual(2);
    expect(new Set(wakeUps)).toEqual(new Set(["listening"]));
    await store.close();
    store.onWake({ workspace: "default", agent: "ben" }, () => wakeUps.push("closed"))();
  });
});

/** Opens a store with agents in two workspaces; send() hands something to one of them. */
async function scene() {
  const folder = tempFolder();
  const file = join(folder, "hub.db");
  const store = await open(file);
  // A hub with a clock of its own sets no timers, so this store listens only if the test does.
  const clock = systemClock;
  const hubs = {
    default: new LocalHub(store, { clock }),
    elsewhere: new LocalHub(store, { clock, workspace: "elsewhere" }),
  };
  for (const hub of Object.values(hubs)) {
    for (const name of PROCESSES) await hub.agent(name, { role: "worker" });
  }
  const send = (to: string, workspace: keyof typeof hubs = "default") =>
    sending(hubs[workspace])(to);
  return { folder, file, store, send };
}

/** Returns the bell files of agents, without the files that count listeners. */
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

/** Starts a child process and collects its messages; kills it when the test ends. */
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
    /** Returns the agents that were woken, without duplicates. */
    woken: () => [...new Set(said.flatMap((fact) => (fact.kind === "woken" ? fact.agent : [])))],
    kill: () => started.kill(),
    ended: started.ended,
  };
}
