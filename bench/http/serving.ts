/** Starts and stops the hub's process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Serving extends AsyncDisposable {
  readonly port: number;
  readonly address: string;
  readonly pid: number;
}

const SCRIPT = fileURLToPath(new URL("server.ts", import.meta.url));

/** Starts a hub. `profile` is a folder for its CPU profile. */
export async function serve(store: string, profile?: string): Promise<Serving> {
  const profiling = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  const child = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", ...profiling, SCRIPT, store],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const { port } = JSON.parse(await firstLine(child)) as { port: number };
  return {
    port,
    address: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const line = once(lines, "line") as Promise<[string]>;
  const ended = once(child, "exit").then(() => {
    throw new Error("The hub did not start");
  });
  const [text] = await Promise.race([line, ended]);
  return text;
}
