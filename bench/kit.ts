/** Helpers shared by the benchmarks: temporary folders, rates, medians, concurrent callers. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { openHub } from "../src/index.ts";

/** Opens a hub, from this source tree or from another commit. */
export type OpenHub = typeof openHub;

export interface Folder extends Disposable {
  readonly path: string;
  file(name: string): string;
}

/** Creates a temporary folder. It must be on a real disk: syncing to a RAM disk costs nothing. */
export function scratch(): Folder {
  const path = mkdtempSync(join(process.env["BENCH_DIR"] ?? tmpdir(), "baton-bench-"));
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

export async function inScratch<T>(run: (folder: Folder) => T | Promise<T>): Promise<T> {
  using folder = scratch();
  return await run(folder);
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0));
    });
  });
}

export function perSecond(count: number, run: () => void): number {
  const start = performance.now();
  run();
  return (count / (performance.now() - start)) * 1000;
}

/** Makes `total` calls from `callers` loops; each loop awaits a call before it makes the next. */
export async function callersLoop(
  callers: number,
  total: number,
  call: (n: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next < total) await call(next++);
    }),
  );
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}
