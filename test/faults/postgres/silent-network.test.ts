/**
 * A network that passes nothing on and closes nothing: every call ends with an error after its deadline, none
 * keeps a connection of the pool, and closing settles.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import { DEFAULT_LIMITS, isBatonError, openHub } from "../../../src/index.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { Scene } from "../../../store-contract/suite/scene.ts";
import { startProxy } from "../../support/postgres/proxy.ts";
import { postgresUrl, testSchema } from "../../support/postgres/schema.ts";
import { until } from "../../support/until.ts";
import { storeCalls } from "./store-calls.ts";

/** Calls that last longer than this many seconds have no deadline. */
const LIMIT_S = 60;

async function throughSilence() {
  const schema = testSchema();
  onTestFinished(() => schema[Symbol.asyncDispose]());
  const proxy = await startProxy(postgresUrl());
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const address = proxy.through(schema.address);
  const hub = await openHub(address, { limits: { busyMs: 2_000 }, embedder: false });
  const ada = await hub.agent("ada", { role: "worker" });
  const { id } = await ada.remember({ content: "Tokens are checked with jose." });
  const sent = await ada.handoff({ to: "ada", task: "auth", intent: "Refactor auth" });
  const reads: Readonly<Record<string, () => Promise<unknown>>> = {
    read: () => hub.memories.read(id),
    events: () => hub.events.list({ after: 0 }),
    agents: () => hub.agents.list(),
    delivery: () => hub.deliveries.get(sent.id),
    recent: () => hub.memories.recent(),
    recall: () => hub.recall("what checks tokens?"),
    task: () => hub.tasks.line("auth"),
    register: () => hub.agent("ben", { role: "worker" }),
  };
  return { hub, proxy, reads };
}

/** Outcomes that name a reason: a query has a timeout of its own, and backups are refused without a query. */
const OUTCOMES = ["timeout", "no_file"];
/** As many operations at a time as the pool has connections. */
const CONNECTIONS = 30;

/** Opens a store through a proxy, with a scene on it. */
async function storeThroughSilence() {
  const proxy = await startProxy(postgresUrl());
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const schema = testSchema();
  const scene = await Scene.open(async ({ clock }) => ({
    store: await openPostgresStore({
      address: `${proxy.through(schema.address)}&pool=${CONNECTIONS}`,
      ...{ clock, limits: { ...DEFAULT_LIMITS, busyMs: 2_000 } },
    }),
    dispose: async () => schema[Symbol.asyncDispose](),
  }));
  onTestFinished(() => scene.end());
  return { scene, proxy };
}

describe("a silent network", { timeout: 2 * LIMIT_S * 1_000 }, () => {
  it("ends every read with an error, and frees its connection [OPS-10]", async () => {
    const { hub, proxy, reads } = await throughSilence();
    onTestFinished(() => hub.close());
    const names = Object.keys(reads);
    for (const name of names) await reads[name]?.();
    proxy.silent = true;
    // Three of each: more than the pool has connections.
    const pending = [...names, ...names, ...names].map(async (name) => [
      name,
      await codeOf(reads[name]?.()),
    ]);
    for (const [name, code] of await Promise.all(pending)) {
      expect(["store_unavailable", "store_busy"], name).toContain(code);
    }
    proxy.silent = false;
    for (const name of names) {
      await until(`${name} works again`, async () => (await codeOf(reads[name]?.())) === "none");
    }
  });

  it("ends every operation of the store with an error [OPS-10]", {
    timeout: 5 * LIMIT_S * 1_000,
  }, async () => {
    const { scene, proxy } = await storeThroughSilence();
    const byName = await storeCalls(scene);
    const calls = Object.entries(byName);
    for (const [name, call] of calls) await expect(call(), name).resolves.not.toThrow();
    const ended: [string, string][] = [];
    for (let at = 0; at < calls.length; at += CONNECTIONS) {
      proxy.silent = true;
      const group = calls.slice(at, at + CONNECTIONS);
      ended.push(
        ...(await Promise.all(
          group.map(
            async ([name, call]): Promise<[string, string]> => [name, await codeOf(call())],
          ),
        )),
      );
      proxy.silent = false;
      // Connections again, so that the next group does not fail because it gets none.
      await until("the store works again", async () => {
        const reads = group.map(() => codeOf(byName.findAgent()));
        return (await Promise.all(reads)).every((code) => code === "none");
      });
    }
    const expected = ["store_unavailable", "store_busy", "timeout"];
    const others = ended.filter(([, code]) => !expected.includes(code));
    expect(others).toEqual([["backup", "no_file"]]);
  });

  it("does not keep a hub from closing [OPS-10]", async () => {
    const { hub, proxy, reads } = await throughSilence();
    proxy.silent = true;
    const pending = codeOf(reads["events"]?.());
    await hub.close();
    expect(["store_unavailable", "store_busy", "store_closed"]).toContain(await pending);
  });
});

/** The code of the error that a call was refused with, or the kind of an outcome that names a reason. */
async function codeOf(call: Promise<unknown> | undefined): Promise<string> {
  try {
    const outcome = (await call) as { readonly kind?: string } | undefined;
    return OUTCOMES.find((kind) => kind === outcome?.kind) ?? "none";
  } catch (error) {
    if (!isBatonError(error)) throw error;
    return error.code;
  }
}
