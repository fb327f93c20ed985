/**
 * scripts/run.mjs, in a scratch project with a fake npm that only logs its runs and creates the
 * files that the real one would.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { installReason } from "../../scripts/run.mjs";

const ROOT = join(import.meta.dirname, "..", "..");

const FAKE_NPM = `#!${process.execPath}
import fs from "node:fs";
fs.appendFileSync("installs.log", process.argv.slice(2).join(" ") + "\\n");
if (fs.existsSync("npm-fails")) {
  console.error("npm error: no such package");
  process.exit(9);
}
fs.rmSync("node_modules", { recursive: true, force: true });
setTimeout(() => {
  fs.mkdirSync("node_modules/node/bin", { recursive: true });
  fs.symlinkSync(${JSON.stringify(process.execPath)}, "node_modules/node/bin/node");
  const { packages } = JSON.parse(fs.readFileSync("package-lock.json", "utf8"));
  delete packages[""];
  fs.writeFileSync("node_modules/.package-lock.json", JSON.stringify({ packages }));
}, 150);
`;

describe.skipIf(process.platform === "win32")("scripts/run.mjs", () => {
  let project: string;

  beforeEach(() => {
    project = mkdtempSync(join(tmpdir(), "baton-run-"));
    for (const folder of ["scripts", "bin"]) mkdirSync(join(project, folder));
    cpSync(join(ROOT, "scripts/run.mjs"), join(project, "scripts/run.mjs"));
    put("bin/npm", FAKE_NPM);
    chmodSync(join(project, "bin/npm"), 0o755);
    putDependency("1.0.0");
    put("hello.ts", `const words: string[] = process.argv.slice(2); console.log(...words);`);
  });

  afterEach(() => rmSync(project, { recursive: true, force: true }));

  function put(path: string, text: string): void {
    writeFileSync(join(project, path), text);
  }

  function putDependency(version: string): void {
    const dependencies = { left: version };
    const left = { version, integrity: `sha512-${version}` };
    put("package.json", JSON.stringify({ type: "module", dependencies }));
    put(
      "package-lock.json",
      JSON.stringify({ packages: { "": { dependencies }, "node_modules/left": left } }),
    );
  }

  function start(...args: string[]): ChildProcess {
    const path = `${join(project, "bin")}${delimiter}${process.env["PATH"]}`;
    return spawn(process.execPath, [join(project, "scripts/run.mjs"), ...args], {
      env: { ...process.env, PATH: path },
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  async function run(...args: string[]) {
    const child = start(...args);
    const said = { stdout: "", stderr: "" };
    child.stdout?.on("data", (chunk) => (said.stdout += chunk));
    child.stderr?.on("data", (chunk) => (said.stderr += chunk));
    const [code] = (await once(child, "close")) as [number];
    return { code, ...said };
  }

  function installs(): number {
    const log = join(project, "installs.log");
    return existsSync(log) ? readFileSync(log, "utf8").trim().split("\n").length : 0;
  }

  it("installs on a fresh clone, runs the script, and leaves stdout to it", async () => {
    const first = await run("hello.ts", "a", "b");
    expect(first).toMatchObject({ code: 0, stdout: "a b\n" });
    expect(first.stderr).toMatch(/^Setting up: dependencies are not installed yet.*\nReady after/);
    expect(readFileSync(join(project, "installs.log"), "utf8")).toMatch(/^ci /);
  });

  it("neither installs nor prints anything when nothing has changed", async () => {
    await run("hello.ts");
    expect(await run("hello.ts", "again")).toEqual({ code: 0, stdout: "again\n", stderr: "" });
    expect(installs()).toBe(1);
  });

  it("installs again when the lock file has changed", async () => {
    await run("hello.ts");
    putDependency("2.0.0");
    expect((await run("hello.ts")).stderr).toContain("dependencies have changed");
    expect(installs()).toBe(2);
  });

  it("installs when package.json requires what the lock file does not contain", async () => {
    await run("hello.ts");
    put("package.json", JSON.stringify({ type: "module", dependencies: { right: "1" } }));
    expect(installReason(project)).toBe("dependencies have changed");
  });

  it("accepts dependencies that were installed manually", async () => {
    await run("hello.ts");
    rmSync(join(project, "node_modules/.baton-setup"));
    expect(await run("hello.ts", "x")).toEqual({ code: 0, stdout: "x\n", stderr: "" });
    expect(installs()).toBe(1);
  });

  it("does not install when only a script was added to package.json", async () => {
    await run("hello.ts");
    const manifest = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
    put("package.json", JSON.stringify({ ...manifest, scripts: { greet: "echo" } }));
    expect(installReason(project)).toBeUndefined();
  });

  it("prints the output of npm when it fails, passes its exit code on and retries next time", async () => {
    put("npm-fails", "");
    const failed = await run("hello.ts", "unreached");
    expect(failed).toMatchObject({ code: 9, stdout: "" });
    expect(failed.stderr).toContain("npm error: no such package");
    rmSync(join(project, "npm-fails"));
    expect(await run("hello.ts", "ok")).toMatchObject({ code: 0, stdout: "ok\n" });
  });

  it("installs once when several runs start at the same time", async () => {
    const runs = await Promise.all([1, 2, 3].map((n) => run("hello.ts", `${n}`)));
    expect(runs.map(({ code, stdout }) => [code, stdout])).toEqual([
      [0, "1\n"],
      [0, "2\n"],
      [0, "3\n"],
    ]);
    expect(installs()).toBe(1);
    expect(existsSync(join(project, ".setup.lock"))).toBe(false);
  });

  it("does not wait for a run that died while installing", async () => {
    put(".setup.lock", "");
    utimesSync(join(project, ".setup.lock"), 1, 1);
    expect(await run("hello.ts", "ok")).toMatchObject({ code: 0, stdout: "ok\n" });
  });

  it("passes the script's exit code on", async () => {
    put("fail.ts", "process.exit(3);");
    expect((await run("fail.ts")).code).toBe(3);
  });

  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)(
    "passes %s on and exits with 128 + n when the script dies of it",
    async (signal, code) => {
      put("wait.ts", `console.log("ready"); setInterval(() => {}, 1000);`);
      expect(await signalled("wait.ts", signal)).toBe(code);
    },
  );

  it("lets the script handle a signal", async () => {
    const answer = `process.on("SIGTERM", () => process.exit(7));`;
    put("wait.ts", `${answer} console.log("ready"); setInterval(() => {}, 1000);`);
    expect(await signalled("wait.ts", "SIGTERM")).toBe(7);
  });

  async function signalled(script: string, signal: NodeJS.Signals): Promise<number | null> {
    const child = start(script);
    if (child.stdout) await once(child.stdout, "data");
    child.kill(signal);
    const [code] = (await once(child, "close")) as [number | null];
    return code;
  }

  it("reports that this project needs no installation", () => {
    expect(installReason(ROOT)).toBeUndefined();
  });
});
