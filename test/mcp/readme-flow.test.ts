/**
 * Runs the program of docs/MCP.md, unchanged except for the port, as from a second terminal beside
 * `npm start`: in a folder that has the official client, against a hub in another process.
 */
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { startChild } from "../support/child.ts";
import { withoutNumbers } from "../support/fences.ts";
import { tempFolder } from "../support/hub/support.ts";
import { ROOT } from "../support/run-script.ts";
import { startHub } from "../support/start-hub.ts";

/** The address of a hub that was started as docs/MCP.md describes. */
const USUAL = "http://127.0.0.1:4747";

it("the program of docs/MCP.md runs from catch_up to a completed handoff [OPS-7]", {
  timeout: 240_000,
}, async () => {
  const folder = tempFolder();
  const hub = await startHub(`sqlite:${join(folder, "hub.db")}`);
  onTestFinished(() => hub[Symbol.asyncDispose]());
  const page = readFileSync(join(ROOT, "docs", "MCP.md"), "utf8");
  const [, program = ""] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
  expect(program).toContain(USUAL);
  const file = join(folder, "second-terminal.ts");
  writeFileSync(file, program.replaceAll(USUAL, hub.address));
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));

  const lines: string[] = [];
  const { ended } = startChild(pathToFileURL(file), [], (line) => lines.push(line));
  const { code, stderr } = await ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const said = lines.join("\n");
  const calls = lines.flatMap((line) => /^(\w+) \{/.exec(line)?.[1] ?? []);
  expect(calls, said).toEqual([
    "catch_up",
    "remember",
    "recall",
    "hand_off",
    "accept",
    "update",
    "wait",
  ]);
  expect(said).not.toContain("refused");
  expect(withoutNumbers(said)).toContain("«Old phones use the v1 token; keep accepting it.»");
  expect(said).toContain("status: 'ended'");
  expect(said).toContain("state: 'completed'");
  expect(withoutNumbers(said)).toContain("«Extracted; old phones still log in.»");
});
