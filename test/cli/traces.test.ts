/** Traces, retention and pruning on the command line. */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../src/index.ts";
import { dumpStore } from "../support/store-dump.ts";
import { type TestStore, testStore } from "./baton.ts";

async function withTraces(store: TestStore): Promise<void> {
  await using hub = await store.open();
  for (const instance of ["monday", "tuesday"]) {
    const coder = await hub.agent("coder", {}, { instance });
    await coder.trace([
      { kind: "prompt", content: "Find it.", task: "auth" },
      {
        kind: "tool",
        name: "grep",
        input: { for: "token" },
        output: "line 3",
        task: "auth",
        ok: false,
      },
    ]);
    await coder.remember({ content: "It is in line 3." });
  }
}

describe("baton trace", () => {
  it("lists the sessions that have a trace, and shows their steps [MEM-12]", async () => {
    using store = testStore();
    await withTraces(store);
    const list = await store.baton("trace", "list");
    expect(list.code).toBe(0);
    expect(list.stdout).toMatch(/monday {2}coder on auth {2}2 steps, /);
    const { stdout } = await store.baton("trace", "show", "monday");
    expect(stdout).toMatch(/prompt {2}coder on auth.*\n +Find it\.\n/);
    expect(stdout).toMatch(
      /tool grep failed {2}coder on auth.*\n +input: \{"for":"token"\}\n +output: line 3/,
    );
    expect(stdout.match(/grep/g)).toHaveLength(1);
    expect(
      (await store.baton("trace", "show", "--task", "auth")).stdout.match(/grep/g),
    ).toHaveLength(2);
    expect((await store.baton("recent")).stdout).not.toContain("grep");
  });

  it("prints the same data with --json [MEM-12]", async () => {
    using store = testStore();
    await withTraces(store);
    const sessions = JSON.parse((await store.baton("trace", "list", "--json")).stdout);
    const steps = JSON.parse((await store.baton("trace", "show", "--limit", "3", "--json")).stdout);
    await using hub = await store.open();
    expect(sessions).toEqual(await hub.traces.sessions());
    expect(steps).toEqual(JSON.parse(JSON.stringify(await hub.traces.list({ limit: 3 }))));
  });

  it("suggests a session for a misspelled name, and reports an empty result [MEM-12]", async () => {
    using store = testStore();
    await withTraces(store);
    const { code, stderr } = await store.baton("trace", "show", "mondey");
    expect([code, stderr]).toEqual([66, expect.stringContaining("Did you mean monday?")]);
    expect((await store.baton("trace", "show", "--task", "no")).stdout).toContain(
      "No matching steps.",
    );
  });
});

describe("baton retention", () => {
  it("sets the given rules, shows them, and removes them with --forever [MEM-18]", async () => {
    using store = testStore();
    await withTraces(store);
    expect((await store.baton("retention")).stdout).toMatch(/traces {2}kept forever/);
    const set = await store.baton("retention", "--trace-days", "0", "--event-keep", "5", "--json");
    expect(JSON.parse(set.stdout)).toEqual({ events: { keep: 5 }, traces: { days: 0 } });
    const { stdout } = await store.baton("retention", "--event-keep", "5");
    expect(stdout).toMatch(/traces {2}kept forever\nevents {2}kept: at most 5 events/);
    await store.baton("retention", "--forever");
    await using hub = await store.open();
    expect((await hub.settings.get()).retention).toEqual({});
  });

  it("refuses a negative number of days [MEM-18]", async () => {
    using store = testStore();
    await withTraces(store);
    expect((await store.baton("retention", "--trace-days", "-1")).code).toBe(64);
  });
});

describe("baton prune", () => {
  const withRules = async (store: TestStore): Promise<void> => {
    await withTraces(store);
    await using hub = await store.open();
    await hub.settings.update({ retention: { traces: { days: 0 } } });
  };

  it("reports that there are no retention rules [MEM-18]", async () => {
    using store = testStore();
    await withTraces(store);
    const { code, stdout } = await store.baton("prune");
    expect([code, stdout]).toEqual([0, expect.stringContaining("No retention rules")]);
  });

  it("lists what would be deleted with --dry-run, and deletes nothing [MEM-18]", async () => {
    using store = testStore();
    await withRules(store);
    const before = dumpStore(store.file);
    const { stdout } = await store.baton("prune", "--dry-run");
    expect(stdout).toMatch(/monday {2}2 steps\n/);
    expect(stdout).toMatch(/Would delete: 4 steps and 0 events, \d+ KB\./);
    expect(dumpStore(store.file)).toEqual(before);
  });

  it("deletes steps, reports how many, and leaves a store that verifies [MEM-18]", async () => {
    using store = testStore();
    await withRules(store);
    const report = JSON.parse((await store.baton("prune", "--as", "coder", "--json")).stdout);
    expect(report).toMatchObject({ steps: 4, events: 0, dryRun: false });
    expect((await store.baton("trace", "list")).stdout).toMatch(/monday {2}0 steps, 2 pruned/);
    await using hub = await store.open();
    expect((await hub.verify()).problems).toEqual([]);
    expect((await hub.memories.recent()).items).toHaveLength(2);
  });

  it("refuses an unknown or disabled agent, and one without its key [MEM-4 MEM-18]", async () => {
    using store = testStore();
    await withRules(store);
    {
      await using hub = await store.open();
      await hub.agent("gone", { status: "disabled" });
      await hub.agent("kim", { key: generateKeyPairSync("ed25519").privateKey });
    }
    const before = dumpStore(store.file);
    for (const [name, code] of [
      ["nobody", ERROR_CODES.unknown_agent.exit],
      ["gone", ERROR_CODES.agent_disabled.exit],
      ["kim", ERROR_CODES.identity_mismatch.exit],
    ] as const) {
      expect((await store.baton("prune", "--as", name)).code, name).toBe(code);
    }
    expect(dumpStore(store.file)).toEqual(before);
  });
});
