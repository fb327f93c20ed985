/** A run whose tests fail says so to whoever started it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { runScript } from "../support/run-script.ts";

it("a failing test makes the run fail, also with the database server it brings", async () => {
  const folder = mkdtempSync(join(import.meta.dirname, "scratch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "failing.test.ts");
  writeFileSync(
    file,
    'import { expect, it } from "vitest";\nit("fails", () => expect(1).toBe(2));\n',
  );
  const vitest = "node_modules/vitest/vitest.mjs";
  const run = await runScript(vitest, ["run", file], { env: { DATABASE_URL: "" } });
  expect(run.stdout).toContain("1 failed");
  expect(run.code).toBe(1);
}, 60_000);
