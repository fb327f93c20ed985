/**
 * The folder the team works in. Agents share only this folder and Baton; every path in a message is
 * relative to it.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { TestReport } from "./messages.ts";

/** The lock file: one test run at a time. */
export const LOCK = "test.lock";

export class Project {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  async begin(): Promise<void> {
    await this.write("package.json", '{ "name": "users", "type": "module", "private": true }\n');
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  read(path: string): Promise<string> {
    return readFile(join(this.folder, path), "utf8");
  }

  async write(path: string, text: string): Promise<void> {
    const file = join(this.folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }

  async digest(path: string): Promise<string> {
    return createHash("sha256")
      .update(await this.read(path))
      .digest("hex");
  }

  /** Returns whether Node can resolve this module from the project. */
  hasModule(name: string): boolean {
    try {
      createRequire(join(this.folder, "package.json")).resolve(name);
      return true;
    } catch {
      return false;
    }
  }

  /** Creates the lock file; returns false if it exists. */
  async lock(owner: string): Promise<boolean> {
    try {
      await writeFile(join(this.folder, LOCK), owner, { flag: "wx" });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    }
  }

  async unlock(): Promise<void> {
    await rm(join(this.folder, LOCK));
  }

  /** Runs the project's tests in a child process and returns the counts. */
  async test(): Promise<TestReport> {
    const count = countsOf(await this.#run("--test", "--test-reporter=tap"));
    const failed = count("fail");
    return {
      outcome: failed === 0 && count("pass") > 0 ? "passed" : "failed",
      tests: count("tests"),
      passed: count("pass"),
      failed,
    };
  }

  #run(...args: string[]): Promise<string> {
    const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: _test, ...env } = process.env;
    return new Promise((resolve) => {
      // The exit code is ignored: the output of failing tests has the counts as well.
      execFile(process.execPath, args, { cwd: this.folder, env }, (_error, stdout) =>
        resolve(stdout),
      );
    });
  }
}

function countsOf(tap: string): (what: string) => number {
  return (what) => Number(new RegExp(`^# ${what} (\\d+)$`, "m").exec(tap)?.[1] ?? 0);
}
