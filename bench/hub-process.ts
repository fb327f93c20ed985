/** `baton start` as a process whose memory can be read. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { Inspector } from "./memory/inspector.ts";

const BATON = join(import.meta.dirname, "..", "src", "cli", "main.ts");

export interface HubProcess extends AsyncDisposable {
  readonly address: string;
  readonly token: string;
  readonly pid: number;
  readonly inspector: Inspector;
  /** Ends it with SIGKILL. */
  kill(): Promise<void>;
}

/** Starts a hub on a store. `home` is its home folder. */
export async function startHub(store: string, home: string): Promise<HubProcess> {
  const child = spawn(
    process.execPath,
    ["--inspect=127.0.0.1:0", BATON, "start", "--port", "0", "--json", "--store", store],
    { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, HOME: home } },
  );
  const debugging = lineWith(child.stderr, /(ws:\/\/\S+)/);
  const printed = await lineWith(child.stdout, /^(\{.*\})$/);
  const { address, tokenFile } = JSON.parse(printed) as { address: string; tokenFile: string };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  };
  const inspector = await Inspector.connect(await debugging);
  return {
    address,
    token: readFileSync(tokenFile, "utf8"),
    pid: child.pid ?? 0,
    inspector,
    kill: () => end("SIGKILL"),
    async [Symbol.asyncDispose]() {
      inspector[Symbol.dispose]();
      await end("SIGTERM");
    },
  };
}

/** Resolves with what a line has matched; other lines are ignored. */
function lineWith(stream: Readable, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: stream });
    lines.on("line", (line) => {
      const [, found] = pattern.exec(line) ?? [];
      if (found !== undefined) resolve(found);
    });
    lines.once("close", () => reject(new Error("the hub ended")));
  });
}

/** Megabytes of a process in memory: its own, and pages of files. Linux only. */
export function residentMb(pid: number): { readonly own: number; readonly files: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mb = (name: string) =>
    (Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]) * 1_024) / 1e6;
  return { own: mb("RssAnon"), files: mb("RssFile") + mb("RssShmem") };
}
