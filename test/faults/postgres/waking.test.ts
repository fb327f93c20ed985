/**
 * Wake-ups across hubs on PostgreSQL. The processes here only listen: no inbox, no timer, no
 * polling. Everything they report was caused by a commit of another hub.
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

// Each test counts its own listeners: those of the previous test must be gone.
beforeEach(() => untilListening(0), TIMEOUT.timeout);

describe("a commit of one hub", TIMEOUT, () => {
  it("wakes listeners of its receiver on another hub, and no others [DLV-13]", async () => {
    const ben = await listening("default", "ben");
    const others = await listening("elsewhere", "ben", "cyd");
    const hub = await open();
    for (let times = 1; times <= 10; times++) {
      await send(hub, "ben");
      await ben.says("woken", times);
    }
    // Notifications arrive in order: if an earlier one had woken them, it would be reported first.
    await send(await open({ workspace: "elsewhere" }), "cyd");
    await others.says("woken");
    expect(others.facts("woken")).toEqual([
      { kind: "woken", workspace: "elsewhere", agent: "cyd" },
    ]);
  });

  it("wakes its own listeners once, not again when the notification returns [DLV-13]", async () => {
    const store = await openStore();
    const wokenAgents: string[] = [];
    for (const agent of ["ben", "cyd"]) {
      store.onWake({ workspace: "default", agent }, () => wokenAgents.push(agent));
    }
    await untilListening(1);
    await send(new LocalHub(store), "ben");
    await send(await open(), "cyd"); // From another hub, after the first.
    await expect.poll(() => wokenAgents, WAIT).toContain("cyd");
    expect(wokenAgents).toEqual(["ben", "cyd"]);
  });

  it("wakes other hubs even if it is the last before the hub closes [DLV-13]", async () => {
    const store = await openStore();
    const wokenAgents: string[] = [];
    for (const agent of AGENTS) {
      store.onWake({ workspace: "default", agent }, () => wokenAgents.push(agent));
    }
    await untilListening(1);
    for (let times = 1; times <= 5; times++) {
      const hub = await openHub(schema.address);
      for (const agent of AGENTS) await send(hub, agent);
      await hub.close();
      for (const agent of AGENTS) {
        const calls = () => wokenAgents.filter((each) => each === agent).length;
        await expect.poll(calls, WAIT).toBeGreaterThanOrEqual(times);
      }
    }
  });

  it("wakes all listeners if it concerns more agents than a notification can name [DLV-13]", async () => {
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

  it("wakes listeners when the schema name has the maximum length [DLV-13]", async () => {
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
    { how: "to each other", names: AGENTS },
    { how: "to the same agent", names: ["ada"] },
  ])("all receive the last notification when they send $how [DLV-13]", async ({ names }) => {
    await using own = testSchema();
    {
      // Closed before the processes are counted: an open hub listens as well.
      await using hub = await openHub(own.address);
      for (const name of AGENTS) await hub.agent(name, { role: "worker" });
    }
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

describe("a hub whose listening connection was terminated", TIMEOUT, () => {
  it("is woken when it listens again, and by every later commit [DLV-13]", async () => {
    const ben = await listening("default", "ben");
    const hub = await open();
    await send(hub, "ben");
    await ben.says("woken");
    await schema.query("select pg_terminate_backend(pid) from pg_stat_activity where query = $1", [
      `listen ${channelOf(schema.schema)}`,
    ]);
    await send(hub, "ben"); // No listener receives this one.
    await ben.says("woken", 2); // Woken on reconnect: it may have missed a notification, and has.
    for (let times = 3; times <= 5; times++) {
      await send(hub, "ben");
      await ben.says("woken", times);
    }
  });
});

describe("an invalid notification", TIMEOUT, () => {
  it("does not wake a listener", async () => {
    const store = await openStore();
    const wokenAgents: string[] = [];
    store.onWake({ workspace: "default", agent: "ben" }, () => wokenAgents.push("ben"));
    await untilListening(1);
    for (const payload of ["garbage", "null", "42", "{}", '["x", 1]', '["x", ["default"]]']) {
      await schema.query("select pg_notify($1, $2)", [channelOf(schema.schema), payload]);
    }
    await send(await open(), "ben");
    await expect.poll(() => wokenAgents, WAIT).toEqual(["ben"]);
  });
});

describe("a program that listens", TIMEOUT, () => {
  it("exits even if it never closes its store", async () => {
    const forgetful = child("forget", schema.address);
    expect(await forgetful.ended).toEqual({ code: 0, signal: null, stderr: "" });
    expect(forgetful.facts("ready")).toHaveLength(1);
  });
});

const channelOf = (name: string): string => `baton_${name}`;

/** Opens a hub that is closed with the test. */
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

/** Starts a process, and waits until it listens. */
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

/** Starts a process that is killed with the test, and collects what it reports. */
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
