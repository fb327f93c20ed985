/** `baton demo`, run as a new user runs it; its output is checked against the store it leaves. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ROOT, type Run, runScript } from "../support/run-script.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { baton, batonFromSources, type TestStore, testStore } from "./baton.ts";

const lineOf = async (store: TestStore, task: string) => {
  await using hub = await store.open();
  const steps = (await hub.tasks.line(task)).filter(({ deliveries }) => deliveries.length > 0);
  const first = steps[0]?.deliveries[0]?.id ?? "";
  return { steps, attempts: await hub.deliveries.attempts(first), report: await hub.verify() };
};

const played = testStore();
afterAll(() => played[Symbol.dispose]());
let first: Promise<Run> | undefined;

const demo = (store: TestStore, ...args: string[]): Promise<Run> => store.process("demo", ...args);

/**
 * Returns the first run on `played`, started once by the first test that needs it. It runs from the
 * sources, where the demo prints its commands as they work in a clone.
 */
function firstRun(): Promise<Run> {
  first ??= batonFromSources(["demo"], { env: { BATON_STORE: played.address } });
  return first;
}

/** Each run starts several processes and waits until a lease expires. */
describe("baton demo", { timeout: 240_000 }, () => {
  it("hands a task on, survives a killed process, and can be run again", async () => {
    for (const [task, run] of [
      ["auth-refactor-1", firstRun],
      ["auth-refactor-2", () => demo(played)],
    ] as const) {
      const { code, stdout, stderr } = await run();
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toContain(task);
      const { steps, attempts, report } = await lineOf(played, task);
      expect(steps.map(({ envelope }) => envelope.to)).toEqual([
        { kind: "agent", agent: "executor" },
        { kind: "agent", agent: "critic" },
      ]);
      expect(steps.flatMap(({ deliveries }) => deliveries.map(({ state }) => state))).toEqual([
        "completed",
        "completed",
      ]);
      expect(steps[0]?.envelope.reconstructed).toMatchObject({ attempt: 1, holder: "executor" });
      expect(attempts).toMatchObject([{ attempt: 1, outcome: "expired", holder: "executor" }]);
      expect(steps[1]?.envelope.constraints).toEqual(steps[0]?.envelope.constraints);
      expect(report.problems).toEqual([]);
    }
  });

  it("prints the view that the executor received, in fewer than 50 plain lines", async () => {
    const { stdout } = await firstRun();
    expect(stdout).toMatch(/must +Do not touch the test fixtures/);
    expect(stdout).toMatch(/accepted +attempt 2/);
    expect(stdout).toMatch(/primer +\d+ bytes, ready to paste/);
    expect(stdout).toMatch(/notes +validateToken\(\) is extracted/);
    expect(stdout).toMatch(/verified +.*: 0 problems/);
    expect(stdout.split("\n").length).toBeLessThan(50);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(stdout).not.toContain("\u001b");
  });

  it("prints its first line before it opens a store", async () => {
    using store = testStore();
    const { code, stdout } = await demo(store, "--store", "nowhere:");
    expect(code).not.toBe(0);
    expect(stdout).toMatch(/^Baton hands a task/);
  });

  it("can be run twice at the same time", async () => {
    using store = testStore();
    const runs = await Promise.all([demo(store), demo(store)]);
    expect(runs.map(({ code, stderr }) => ({ code, stderr }))).toEqual([
      { code: 0, stderr: "" },
      { code: 0, stderr: "" },
    ]);
    for (const task of ["auth-refactor-1", "auth-refactor-2"]) {
      expect((await lineOf(store, task)).steps).toHaveLength(2);
    }
  });

  it("suggests commands that exist and work", async () => {
    const { stdout } = await firstRun();
    const next = stdout.slice(stdout.indexOf("Next steps"));
    const commands = [...next.matchAll(/npm run baton -- (.+?) {2}/g)].map(
      ([, words = ""]) => words,
    );
    expect(commands).toHaveLength(7);
    using folder = temporaryFolder();
    const env = { BATON_STORE: played.address, TMPDIR: folder.path };
    const runs = commands.map(async (words) => {
      // demo team is an example, and the tests' build does not include examples.
      const run = words === "demo team" ? batonFromSources : baton;
      return { words, run: await run(words.split(" "), { env }) };
    });
    for (const { words, run } of await Promise.all(runs)) {
      expect({ words, code: run.code, stderr: run.stderr }).toEqual({ words, code: 0, stderr: "" });
      expect(run.stdout).not.toMatch(/No handoffs|No matching/);
    }
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    for (const [, name = ""] of next.matchAll(/npm (?:run )?(\w+)/g)) {
      expect(Object.keys(scripts)).toContain(name);
    }
    const [, example = ""] = /npm run example -- (\S+)/.exec(next) ?? [];
    expect((await runScript("scripts/example.ts", [example], { env })).code).toBe(0);
  });

  it("refuses a store that its processes cannot share", async () => {
    using store = testStore();
    const { code, stderr } = await demo(store, "--store", "memory:");
    expect(code).toBe(64);
    expect(stderr).toContain("several processes");
  });
});
