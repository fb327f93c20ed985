/**
 * The installed `redis-server` with its append-only file on and snapshots off. Each run starts its
 * own server, so that no run is affected by the log of another.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { freePort, scratch } from "../kit.ts";
import type { Engine, Place } from "./engine.ts";

/** When the log is synced: `always` before the reply, `everysec` up to a second later. */
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
    const output = execFileSync("redis-server", ["--version"], { encoding: "utf8" });
    return /v=(\S+)/.exec(output)?.[1] ?? "(unknown version)";
  } catch (cause) {
    throw new Error("redis-server is not installed", { cause });
  }
}

function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("exit", (code) => reject(new Error(`redis-server exited with code ${code}`)));
    server.stdout?.on("data", (chunk: Buffer) => {
      if (chunk.includes("Ready to accept connections")) resolve();
    });
  });
}
