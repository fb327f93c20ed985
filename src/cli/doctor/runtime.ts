/** Checks the runtime: Node.js and SQLite versions, the hub's port, and how long a hook takes to start. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { batonVersion } from "../../base/version.ts";
import { MIN_SQLITE_VERSION } from "../../store/sqlite/connection.ts";
import { type CheckResult, ok, warn } from "./check-result.ts";

/** Reports the versions. Always passes: cli/main.ts refuses older versions of Node.js. */
export const checkNode = (): CheckResult =>
  ok("Node.js", `${process.versions.node}, Baton ${batonVersion()}, ${process.execPath}`);

/** Checks that the SQLite of this Node.js is new enough. */
export function checkSqlite(): CheckResult {
  using db = new DatabaseSync(":memory:");
  const { version } = db.prepare("select sqlite_version() as version").get() as { version: string };
  const parts = version.split(".").map(Number);
  const differs = MIN_SQLITE_VERSION.findIndex((least, i) => parts[i] !== least);
  const isNew = differs < 0 || (parts[differs] ?? 0) > (MIN_SQLITE_VERSION[differs] ?? 0);
  if (isNew) return ok("SQLite", version);
  return {
    check: "SQLite",
    status: "fail",
    found: `${version}; ${MIN_SQLITE_VERSION.join(".")} or newer is required to avoid data loss`,
    fix: "Install a newer Node.js, which includes SQLite.",
    code: "runtime_too_old",
  };
}

const ANSWER_MS = 2_000;

/** Checks that the port is free or a Baton hub listens on it; waits 2 s for an answer. */
export async function checkPort(number: number): Promise<CheckResult> {
  const url = `http://127.0.0.1:${number}/healthz`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS), redirect: "manual" });
    const version = answer.ok ? versionIn(await answer.text()) : undefined;
    if (version !== undefined) return ok(`port ${number}`, `a hub is running, Baton ${version}`);
    return portInUse(number, `another server is running (status ${answer.status})`);
  } catch (error) {
    const { cause } = error as { cause?: NodeJS.ErrnoException };
    if (cause?.code === "ECONNREFUSED")
      return ok(`port ${number}`, "free; to start a hub: baton start");
    return portInUse(number, "another program uses it and does not respond like a hub");
  }
}

/** Returns the version if the response is that of a hub. */
const versionIn = (text: string): string | undefined =>
  /^\{"status":"ok","version":"([^"]+)"/.exec(text)?.[1];

const portInUse = (number: number, found: string): CheckResult =>
  warn(`port ${number}`, found, "Stop that program, or use another port: baton start --port <n>");

/** Above this, users notice the delay of a hook. */
const MAX_HOOK_MS = 250;
const ROUNDS = 3;

/** Measures the fastest of 3 runs of a hook that reads an empty store in memory and writes nothing. */
export async function checkHookStart(): Promise<CheckResult> {
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) times.push(await timedHook());
  const ms = Math.round(Math.min(...times));
  const found = `${ms} ms to start and answer`;
  if (ms <= MAX_HOOK_MS) return ok("hooks", found);
  return warn(
    "hooks",
    found,
    "Install Baton on a fast local disk; a slow one delays every prompt.",
  );
}

async function timedHook(): Promise<number> {
  const entry = join(
    import.meta.dirname,
    import.meta.filename.endsWith(".ts") ? "../main.ts" : "../main.js",
  );
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [entry, "hook", "claude-code", "UserPromptSubmit", "--store", "memory:"],
    { stdio: ["pipe", "ignore", "ignore"] },
  );
  child.stdin.end(JSON.stringify({ session_id: "doctor", cwd: process.cwd(), prompt: "?" }));
  await once(child, "exit");
  return performance.now() - began;
}
