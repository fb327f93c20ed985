/**
 * A disk that fails while the log is merged into the file. The failure is real: the process may not write
 * beyond a file size (`ulimit -f`) that the store has already reached and its log has not.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { openHub } from "../../src/index.ts";
import { UNMERGED } from "../../src/store/sqlite/merge-log.ts";
import { builtChild } from "../support/build/place.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { contentsOf } from "./checkpoint-failure-facts.ts";

const CHILD = new URL("./checkpoint-failure-child.ts", import.meta.url);
/** The log has half of this when its first checkpoint begins. */
const LIMIT_BYTES = 24 * 1024 * 1024;
/** Of `ulimit -f` in a POSIX shell. */
const BLOCK = 512;

async function storeOfLimitSize(file: string): Promise<void> {
  await using hub = await openHub(`sqlite:${file}`);
  const agent = await hub.agent("ada", { role: "writer" });
  for (let n = 0; n * 350_000 < LIMIT_BYTES; n++) await agent.remember(contentsOf(n));
}

/** Runs the child with the limit, and returns what it said. */
async function runLimited(file: string, end: "close" | "exit") {
  const limit = `ulimit -f ${Math.floor(LIMIT_BYTES / BLOCK)}; exec "$@"`;
  const args = ["-c", limit, "sh", process.execPath, builtChild(CHILD), `sqlite:${file}`, end];
  const child = spawn("sh", args, { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(await ended, stderr).toEqual([0, null]);
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return {
    ids: lines.flatMap(({ id }) => id ?? []) as string[],
    warnings: lines.flatMap(({ warning }) => warning ?? []) as string[],
  };
}

it.skipIf(process.platform === "win32").each(["close", "exit"] as const)(
  "reports a failed checkpoint, keeps the log at %s, and merges it at the next open [DLV-1]",
  async (end) => {
    using folder = temporaryFolder();
    const file = folder.file("hub.db");
    await storeOfLimitSize(file);
    const { ids, warnings } = await runLimited(file, end);
    expect(warnings).toEqual([expect.stringContaining(`${file}: the disk failed`)]);
    expect(existsSync(`${file}${UNMERGED}`)).toBe(true);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);

    await using hub = await openHub(`sqlite:${file}`);
    expect(existsSync(`${file}${UNMERGED}`)).toBe(false);
    const agent = await hub.agent("ada");
    for (const id of ids) expect((await agent.memories.read(id)).id).toBe(id);
    expect((await hub.verify()).problems).toEqual([]);
  },
);
