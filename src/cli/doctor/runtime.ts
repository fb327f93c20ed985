/** What Baton runs on: Node, SQLite, the hub's port, and how long a hook takes to start. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { batonVersion } from "../../base/version.ts";
import { MIN_SQLITE_VERSION } from "../../store/sqlite/connection.ts";
import { type CheckResult, ok, warn } from "./check-result.ts";

/** An older one does not come this far: cli/main.ts. */
export const checkNode = (): CheckResult =>
  ok("Node.js", `${process.versions.node}, Baton ${batonVersion()}, ${process.execPath}`);

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
    found: `${version}; ${MIN_SQLITE_VERSION.join(".")} is the oldest that loses nothing`,
    mend: "Use a newer Node.js, which brings its own SQLite.",
    code: "runtime_too_old",
  };
}

const ANSWER_MS = 2_000;

/** Free, or a hub of ours. */
export async function checkPort(number: number): Promise<CheckResult> {
  const url = `http://127.0.0.1:${number}/healthz`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS), redirect: "manual" });
    const version = answer.ok ? versionIn(await answer.text()) : undefined;
    if (version !== undefined) return ok(`port ${number}`, `a hub answers, Baton ${version}`);
    return portInUse(number, `something else answers (${answer.status})`);
  } catch (error) {
    const { cause } = error as { cause?: NodeJS.ErrnoException };
    if (cause?.code === "ECONNREFUSED") return ok(`port ${number}`, "free: baton start");
    return portInUse(number, "something is there that does not answer as a hub does");
  }
}

/** A hub says its version; anybody else says something else. */
const versionIn = (text: string): string | undefined =>
  /^\{"status":"ok","version":"([^"]+)"/.exec(text)?.[1];

const portInUse = (number: number, found: string): CheckResult =>
  warn(`port ${number}`, found, "End it, or let the hub listen elsewhere: baton start --port <n>");

/** What a hook may take before it is felt. */
const MAX_HOOK_MS = 250;
const ROUNDS = 3;

/** The quickest of a few: a hook that looks at an empty store in memory, and stores nothing. */
export async function checkHookStart(): Promise<CheckResult> {
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) times.push(await timedHook());
  const ms = Math.round(Math.min(...times));
  const found = `${ms} ms to start and answer`;
  if (ms <= MAX_HOOK_MS) return ok("hooks", found);
  return warn(
    "hooks",
    found,
    "Keep Baton on a fast local disk; a slow one is felt at every prompt.",
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
