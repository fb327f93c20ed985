/**
 * Waking across hubs on PostgreSQL. The processes here do nothing but listen: no inbox, no timer, no
 * look of their own. What they say, they say because another hub's commit called them.
 */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { sha256 } from "../../../src/base/digest.ts";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import { type Hub, LocalHub, openHub } from "../../../src/index.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { startChild } from "../../support/child.ts";
import { type TestSchema, testSchema } from "../../support/postgres/schema.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { SENDS, type WakingFact } from "./waking-facts.ts";

const CHILD = new URL("./waking-child.ts", import.meta.url);
const AGENTS = ["ada", "ben", "cyd", "dot"];
const WAIT = { timeout: 60_000, interval: 5 };
const TIMEOUT = { timeout: 120_000 };

let schema: TestSchema;

beforeAll(async () => {
  schema = testSchema();
  await using hub = await openHub(schema.address);
  await using elsewhere = await openHub(schema.address, { workspace: "elsewhere" });
  for (const each of [hub, elsewhere]) {
    for (const name of AGENTS) await each.agent(name, { role: "worker" });
  }
});

afterAll(() => schema[Symbol.asyncDispose]());

// What the test before has left is gone: each counts its own listeners.
beforeEach(() => untilListening(0), TIMEOUT.timeout);

describe("a commit of one hub", TIMEOUT, () => {
  it("wakes who listens for its receiver at another, and nobody else [DLV-13]", async () => {
    const ben = await listening("default", "ben");
    const others = await listening("elsewhere", "ben", "cyd");
    const hub = await open();
    for (let times = 1; times <= 10; times++) {
      await send(hub, "ben");
      await ben.says("woken", times);
    }
    // Notifications are heard in their order: had an earlier one woken them, they had said so before.
    await send(await open({ workspace: "elsewhere" }), "cyd");
    await others.says("woken");
    expect(others.facts("woken")).toEqual([
      { kind: "woken", workspace: "elsewhere", agent: "cyd" },
    ]);
  });

  it("wakes its own listeners once, not again when the notification comes back [DLV-13]", async () => {
    const store = await openStore();
    const heard: string[] = [];
    for (const agent of ["ben", "cyd"]) {
      store.onWake({ workspace: "default", agent }, () => heard.push(agent));
    }
    await untilListening(1);
    await send(new LocalHub(store), "ben");
    await send(await open(), "cyd"); // From outside, and after the first.
    await expect.poll(() => heard, WAIT).toContain("cyd");
    expect(heard).toEqual(["ben", "cyd"]);
  });

  it("wakes others also when it is the hub's last, and the hub closes [DLV-13]", async () => {
    const store = await openStore();
    const heard: string[] = [];
    for (const agent of AGENTS) {
      store.onWake({ workspace: "default", agent }, () => heard.push(agent));
    }
    await untilListening(1);
    for (let times = 1; times <= 5; times++) {
      const hub = await openHub(schema.address);
      for (const agent of AGENTS) await send(hub, agent);
      await hub.close();
      for (const agent of AGENTS) {
        const calls = () => heard.filter((each) => each === agent).length;
        await expect.poll(calls, WAIT).toBeGreaterThanOrEqual(times);
      }
    }
  });

  it("wakes everybody where it concerns more agents than a notification can name [DLV-13]", async () => {
    const clock = new VirtualClock();
    const store = await openStore(undefined, clock);
    const hub = new LocalHub(store, { workspace: "long-names", clock });
    const sender = await hub.agent("sender", { role: "worker" });
    const names = Array.from({ length: 70 }, (_, n) => `${n}`.padEnd(120, "x"));
    await Promise.all(
      names.map(async (name) => {
        const agent = await hub.agent(name, { role: "worker" }, { lease: "session" });
        await sender.handoff({ to: name, task: "t", intent: "Go" });
        await agent.accept();
      }),
    );
    const bystander = await listening("default", "ben");
    clock.advance(DEFAULT_LIMITS.leaseMs);
    const { due } = await store.listDue({ workspace: "long-names", gone: [], limit: 100 });
    expect(due).toHaveLength(names.length);
    const ends = { outcome: "expired", reason: "" } as const;
    await store.moveDeliveries({
      ...{ workspace: "long-names", branch: "main", agent: "sender" },
      moves: due.map(({ delivery: seen }) => {
        return { delivery: seen.id, seen, to: "ready", event: "expired", ends } as const;
      }),
    });
    await bystander.says("woken");
  });

  it("wakes also where the schema's name is as long as a name can be [DLV-13]", async () => {
    const long = `${schema.schema}_${"x".repeat(63)}`.slice(0, 63);
    onTestFinished(async () => {
      await schema.query(`drop schema if exists ${long} cascade`);
    });
    const address = new URL(schema.address);
    address.searchParams.set("schema", long);
    const store = await openStore(address.href);
    await new LocalHub(store).agent("ben", { role: "worker" });
    let woken = 0;
    store.onWake({ workspace: "default", agent: "ben" }, () => woken++);
    await untilListening(1, channelOf(sha256(long).slice(0, 32)));
    const other = await openHub(address.href);
    onTestFinished(() => other.close());
    await (await other.agent("ben")).handoff({ to: "ben", task: "t", intent: "Go" });
    await expect.poll(() => woken, WAIT).toBe(1);
  });
});

describe("four hubs that send at once", TIMEOUT, () => {
  it.for([
    { how: "each to the others", names: AGENTS },
    { how: "all to the same agent", names: ["ada"] },
  ])("$how: nobody misses the last notification [DLV-13]", async ({ names }) => {
    await using own = testSchema();
    await using hub = await openHub(own.address);
    for (const name of AGENTS) await hub.agent(name, { role: "worker" });
    using folder = temporaryFolder();
    const start = folder.file("start");
    const receiversOf = (name: string) =>
      names.length === 1 ? names : names.filter((other) => other !== name);
    const senders = names.length === 1 ? AGENTS.length : AGENTS.length - 1;
    const processes = AGENTS.map((_, n) => {
      const name = names[n % names.length] ?? "";
      return child(
        "exchange",
        own.address,
        start,
        name,
        `${senders * SENDS}`,
        ...receiversOf(name),
      );
    });
    await Promise.all(processes.map((each) => each.says("ready")));
    await untilListening(AGENTS.length, channelOf(own.schema));
    writeFileSync(start, "");
    await Promise.all(processes.map((each) => each.says("complete")));
    await Promise.all(processes.map((each) => each.ended));
  });
});

describe("a hub whose listening connection was ended", TIMEOUT, () => {
  it("is called when it listens again, and by every commit after that [DLV-13]", async () => {
    const ben = await listening("default", "ben");
    const hub = await open();
    await send(hub, "ben");
    await ben.says("woken");
    await schema.query("select pg_terminate_backend(pid) from pg_stat_activity where query = $1", [
      `listen ${channelOf(schema.schema)}`,
    ]);
    await send(hub, "ben"); // Nobody hears it.
    await ben.says("woken", 2); // Called all the same: it may have missed something, and it has.
    for (let times = 3; times <= 5; times++) {
      await send(hub, "ben");
      await ben.says("woken", times);
    }
  });
});

describe("what anybody can say on the channel", TIMEOUT, () => {
  it("disturbs nobody", async () => {
    const store = await openStore();
    const heard: string[] = [];
    store.onWake({ workspace: "default", agent: "ben" }, () => heard.push("ben"));
    await untilListening(1);
    for (const payload of ["garbage", "null", "42", "{}", '["x", 1]', '["x", ["default"]]']) {
      await schema.query("select pg_notify($1, $2)", [channelOf(schema.schema), payload]);
    }
    await send(await open(), "ben");
    await expect.poll(() => heard, WAIT).toEqual(["ben"]);
  });
});

describe("a program that listens", TIMEOUT, () => {
  it("and forgets to close ends all the same", async () => {
    const forgetful = child("forget", schema.address);
    expect(await forgetful.ended).toEqual({ code: 0, signal: null, stderr: "" });
    expect(forgetful.facts("ready")).toHaveLength(1);
  });
});

const channelOf = (name: string): string => `baton_${name}`;

/** A hub, closed with the test. */
async function open(options: { workspace?: string } = {}): Promise<Hub> {
  const hub = await openHub(schema.address, options);
  onTestFinished(() => hub.close());
  return hub;
}

async function openStore(address = schema.address, clock?: VirtualClock): Promise<Store> {
  const store = await openPostgresStore({ address, limits: DEFAULT_LIMITS, clock });
  onTestFinished(() => store.close());
  return store;
}

async function send(hub: Hub, to: string): Promise<void> {
  const dot = await hub.agent("dot");
  await dot.handoff({ to, task: randomUUID(), intent: "Wake up" });
}

/** A process that listens, from now on. */
async function listening(workspace: string, ...agents: string[]) {
  const before = await listenersOf(channelOf(schema.schema));
  const started = child("listen", schema.address, workspace, ...agents);
  await started.says("ready");
  await untilListening(before + 1);
  return started;
}

async function untilListening(count: number, channel = channelOf(schema.schema)): Promise<void> {
  await expect.poll(() => listenersOf(channel), WAIT).toBe(count);
}

async function listenersOf(channel: string): Promise<number> {
  const rows = await schema.query("select pid from pg_stat_activity where query = $1", [
    `listen ${channel}`,
  ]);
  return rows.length;
}

/** A process and what it has said so far; killed with the test. */
function child(...args: string[]) {
  const said: WakingFact[] = [];
  const started = startChild(CHILD, args, (line) => {
    said.push(JSON.parse(line) as WakingFact);
  });
  onTestFinished(async () => {
    started.kill();
    await started.ended;
  });
  const facts = (kind: WakingFact["kind"]) => said.filter((fact) => fact.kind === kind);
  return {
    facts,
    ended: started.ended,
    says: (kind: WakingFact["kind"], times = 1) =>
      expect.poll(() => facts(kind).length, WAIT).toBeGreaterThanOrEqual(times),
  };
}
