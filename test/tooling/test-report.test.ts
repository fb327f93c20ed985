/** The report of a test run: which tests failed, why, and how to repeat them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { describeFailures, type TestReport } from "../../scripts/test-report.ts";
import { postgresUrl } from "../support/postgres/schema.ts";
import { runScript } from "../support/run-script.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const REPORT: TestReport = {
  ...{ passed: 3, failed: 1, skipped: 0, seed: "7", reason: "failed" },
  failures: [
    {
      file: "test/a.test.ts",
      title: "a store (SQLite) > doesn't lose [it]",
      message: "expected 1 to be 2\nmore",
    },
  ],
};

describe("the list of failed tests", () => {
  it("names the test, the first line of its error and the command that repeats it with its seed", () => {
    expect(describeFailures(REPORT).split("\n")).toEqual([
      "✗ test/a.test.ts > a store (SQLite) > doesn't lose [it]",
      "    expected 1 to be 2",
      "    repeat: BATON_SEED=7 npm test -- test/a.test.ts -t '^a store \\(SQLite\\) > doesn'\\''t lose \\[it\\]$'",
    ]);
  });

  it("names a file that could not be loaded, and an error outside any test", () => {
    const failures = [
      { file: "test/b.test.ts", title: "", message: "Unexpected token" },
      { file: "", title: "", message: "Unhandled rejection" },
    ];
    expect(describeFailures({ ...REPORT, failures }).split("\n")).toEqual([
      "✗ test/b.test.ts",
      "    Unexpected token",
      "    repeat: BATON_SEED=7 npm test -- test/b.test.ts",
      "✗ outside of any test",
      "    Unhandled rejection",
    ]);
  });
});

describe("the commands that run tests", { concurrent: true }, () => {
  /** Creates a suite outside the project, so that another run does not find it. */
  function suite() {
    const folder = temporaryFolder();
    mkdirSync(folder.file("test"));
    writeFileSync(
      folder.file("test/mixed.test.ts"),
      `it("passes", () => expect(1).toBe(1));
       it.skip("waits", () => {});
       describe("a group", () => {
         it("fails", () => expect("seed " + process.env.BATON_SEED).toBe(""));
       });`,
    );
    const env = { DATABASE_URL: postgresUrl(), BATON_SEED: "11" };
    return { ...folder, args: ["--dir", folder.path, "--globals"], env };
  }

  it("npm test ends with the failed test, its seed, the command that repeats it, and the counts", async () => {
    using tests = suite();
    const { code, stdout } = await runScript("scripts/test.ts", tests.args, { env: tests.env });
    const [name, reason, repeat, counts] = stdout.trimEnd().split("\n").slice(-4);
    expect(name).toMatch(/^✗ .*mixed\.test\.ts > a group > fails$/);
    expect(reason).toContain("seed 11");
    expect(repeat).toMatch(/repeat: BATON_SEED=11 npm test -- .*mixed\.test\.ts -t '[^']+'$/);
    expect(counts).toBe("1 passed, 1 failed, 1 skipped");
    expect(code).toBe(1);
    const [, pattern = ""] = /-t '(.+)'$/.exec(repeat ?? "") ?? [];
    const again = [...tests.args, "-t", pattern];
    const { stdout: repeated } = await runScript("scripts/test.ts", again, { env: tests.env });
    expect(repeated.trimEnd().split("\n").at(-1)).toBe("0 passed, 1 failed, 2 skipped");
  });

  it("test:stress lists the failed tests, how often they failed, and the first seed", async () => {
    using tests = suite();
    const args = ["--times", "2", "--load", "1", "--json", "--", ...tests.args];
    const { code, stdout } = await runScript("scripts/test-stress.ts", args, { env: tests.env });
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ times: 2, load: 1, green: 0 },
      failures: [{ title: "a group > fails", times: 2, seed: expect.stringMatching(/^\d+$/) }],
    });
    expect(code).toBe(1);
  });

  it.each([
    ["--times=0", "at least 1"],
    ["--load=-1", "at least 0"],
  ])("test:stress refuses %s", async (option, rule) => {
    const { code, stderr } = await runScript("scripts/test-stress.ts", [option]);
    expect(stderr).toContain(rule);
    expect(code).toBe(64);
  });
});
