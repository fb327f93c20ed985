/**
 * The `redis-server` of this machine, append-only file on and nothing else changed: a server of
 * its own for every run, so that no run meets the log another one left.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { freePort, scratch } from "../kit.ts";
import type { Engine, Place } from "./engine.ts";

/** When the log is synced: `always` before the answer, `everysec` up to a second later. */
export type Sync = "always" | "everysec";

export async function startRedis(sync: Sync): Promise<Engine> {
  return {
    version: `Redis ${versionOf()}`,
    async place(): Promise<Place> {
      const folder = scratch();
      const port = await freePort();
      const server = spawn(
        "redis-server",
        // biome-ignore format: one setting a line
        [
          "--port", String(port),
          "--bind", "127.0.0.1",
          "--dir", folder.path,
          "--save", "",
          "--appendonly", "yes",
          "--appendfsync", sync,
        ],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      const end = () => server.kill();
      process.once("exit", end);
      await ready(server);
      return {
        address: `redis://127.0.0.1:${port}`,
        async [Symbol.asyncDispose]() {
          process.off("exit", end);
          const ended = once(server, "exit");
          end();
          await ended;
          folder[Symbol.dispose]();
        },
      };
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

function versionOf(): string {
  try {
    const said = execFileSync("redis-server", ["--version"], { encoding: "utf8" });
    return /v=(\S+)/.exec(said)?.[1] ?? "of unknown version";
  } catch (cause) {
    throw new Error("redis-server is not installed", { cause });
  }
}

function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("exit", (code) => reject(new Error(`redis-server ended with code ${code}`)));
    server.stdout?.on("data", (chunk: Buffer) => {
      if (chunk.includes("Ready to accept connections")) resolve();
    });
  });
}
