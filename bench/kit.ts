/** Small things every workload needs: folders that vanish, rates, medians, many callers at once. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Folder extends Disposable {
  file(name: string): string;
}

/** On the real disk: a sync to a RAM disk would flatter everybody. */
export function scratch(): Folder {
  const path = mkdtempSync(join(process.env["BENCH_DIR"] ?? tmpdir(), "baton-bench-"));
  return {
    file: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

export function perSecond(count: number, run: () => void): number {
  const start = performance.now();
  run();
  return (count / (performance.now() - start)) * 1000;
}

/** `total` calls by `callers` loops, each starting its next when its last was answered. */
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
