/** The exit code of a test run. */
import { mkdirSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { runScript } from "../support/run-script.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

it("a test run fails when a test fails, also with its own database server", async () => {
  // Outside the project, so that another run that starts meanwhile does not find it.
  using folder = temporaryFolder();
  mkdirSync(folder.file("test"));
  writeFileSync(folder.file("test/failing.test.ts"), 'it("fails", () => expect(1).toBe(2));\n');
  const vitest = "node_modules/vitest/vitest.mjs";
  const args = ["run", "--dir", folder.path, "--globals"];
  const run = await runScript(vitest, args, { env: { DATABASE_URL: "" } });
  expect(run.stdout).toContain("1 failed");
  expect(run.code).toBe(1);
}, 240_000);
