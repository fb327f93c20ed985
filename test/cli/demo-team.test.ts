/**
 * `baton demo team`, run as a new user runs it; its output is checked against the store it leaves.
 */
import { afterAll, describe, expect, it } from "vitest";
import { Project } from "../../examples/coder-reviewer-tester/project.ts";
import { type Envelope, openHub } from "../../src/index.ts";
import type { Run } from "../support/run-script.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { baton, batonFromSources } from "./baton.ts";

/** Each run starts several processes, and the machine may be busy. */
const SLOW = 240_000;

/** Returns a folder for everything that a run writes, including its temporary files. */
function stage(): Disposable & { address: string; demo(...args: string[]): Promise<Run> } {
  const folder = temporaryFolder();
  const env = { TMPDIR: folder.path, BATON_STORE: "nowhere:" }; // Never the user's own store.
  return {
    address: `sqlite:${folder.file("hub.db")}`,
    demo: (...args) => batonFromSources(["demo", "team", ...args], { env }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const played = stage();
afterAll(() => played[Symbol.dispose]());
let plain: Promise<Run> | undefined;

/** Runs the demo without --store, once for all tests that need it. */
function plainRun(): Promise<Run> {
  plain ??= played.demo();
  return plain;
}

describe("baton demo team", () => {
  it(
    "runs on its own store, prints where it is, and suggests commands that work [CRD-5]",
    async () => {
      const { code, stdout, stderr } = await plainRun();
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const [, address = ""] = /--store (sqlite:\S+)/.exec(stdout) ?? [];
      const [, folder = ""] = /^ +project +(\S+)/m.exec(stdout) ?? [];
      {
        await using hub = await openHub(address, { create: false });
        expect((await hub.tasks.get("users-api")).state).toBe("done");
        expect((await hub.tasks.get("users-api/export")).state).toBe("failed");
      }
      expect(await new Project(folder).test()).toMatchObject({ outcome: "passed", tests: 2 });

      const next = stdout.slice(stdout.indexOf("Next steps"));
      const commands = [...next.matchAll(/npm run baton -- (.+?) {2}/g)].map(
        ([, words = ""]) => words,
      );
      expect(commands).toHaveLength(4);
      const runs = commands.map(async (words) => ({
        words,
        run: await baton([...words.split(" "), "--store", address]),
      }));
      for (const { words, run } of await Promise.all(runs)) {
        expect({ words, code: run.code, stderr: run.stderr }).toEqual({
          words,
          code: 0,
          stderr: "",
        });
        expect(run.stdout).toMatch(/users-api|no-dependencies/);
      }
    },
    SLOW,
  );

  it(
    "prints failures, decisions and reasons in fewer than 70 lines of 100 columns [CRD-5]",
    async () => {
      const { stdout } = await plainRun();
      const lines = stdout.trimEnd().split("\n");
      expect(lines.length).toBeLessThan(70);
      // Paths can have any length.
      const prose = lines.filter((line) => !/sqlite|the project/.test(line));
      expect(Math.max(...prose.map((line) => line.length))).toBeLessThanOrEqual(100);
      expect(stdout).not.toContain("\u001b");
      expect(stdout.match(/: FAILED, /g)).toHaveLength(3);
      expect(stdout).toMatch(/coordinator: DECIDED to reroute to role:architect\n +because: /);
      expect(stdout).toMatch(/coordinator: DECIDED to abort\n +because: /);
      expect(stdout).toMatch(/DECIDED by its policy: retry/);
      expect(stdout).toMatch(/users-api\/export +failed +constraints\/no-dependencies/);
      expect(stdout).toMatch(/verified +.*: 0 problems/);
    },
    SLOW,
  );

  it(
    "prints the messages with --json, and uses its own workspace on a named store [CRD-5]",
    async () => {
      using place = stage();
      for (const task of ["users-api", "users-api-2"]) {
        const run = await place.demo("--json", "--store", place.address);
        expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" });
        const said = JSON.parse(run.stdout) as { task: string; messages: Envelope[] };
        expect(said.task).toBe(task);
        expect(said.messages.map(({ action }) => action)).toContain("changes_requested");
        await using hub = await openHub(place.address, { workspace: "team-demo" });
        const sent = (await hub.tasks.line(`${task}/endpoint`)).map(({ envelope }) => envelope.id);
        expect(said.messages.map(({ id }) => id)).toEqual(expect.arrayContaining(sent));
      }
      await using others = await openHub(place.address);
      expect(await others.agents.list()).toEqual([]);
    },
    SLOW,
  );

  it("prints its first line before it opens a store [CRD-5]", async () => {
    using place = stage();
    const { code, stdout } = await place.demo("--store", "nowhere:");
    expect(code).not.toBe(0);
    expect(stdout).toMatch(/^A team builds an endpoint/);
  });
});
