/**
 * A network that passes nothing on and closes nothing: every call ends with an error after its deadline, none
 * keeps a connection of the pool, and closing settles.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import { isBatonError, openHub } from "../../../src/index.ts";
import { startProxy } from "../../support/postgres/proxy.ts";
import { postgresUrl, testSchema } from "../../support/postgres/schema.ts";
import { until } from "../../support/until.ts";

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

  it("does not keep a hub from closing [OPS-10]", async () => {
    const { hub, proxy, reads } = await throughSilence();
    proxy.silent = true;
    const pending = codeOf(reads["events"]?.());
    await hub.close();
    expect(["store_unavailable", "store_busy", "store_closed"]).toContain(await pending);
  });
});

/** The code of the error that a call was refused with; "none" if it was not. */
async function codeOf(call: Promise<unknown> | undefined): Promise<string> {
  try {
    await call;
    return "none";
  } catch (error) {
    if (!isBatonError(error)) throw error;
    return error.code;
  }
}
