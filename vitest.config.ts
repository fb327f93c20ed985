import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

const source = (file: string): string => join(import.meta.dirname, "src", file);

export default defineConfig({
  resolve: {
    // The examples import the package as users do; here that is the sources (tsconfig.json says so too).
    alias: [
      { find: /^batonpass$/, replacement: source("index.ts") },
      { find: /^batonpass\/testing$/, replacement: source("testing/index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/postgres/global-setup.ts"],
    pool: "forks",
    // Tests wait for disks and processes more than they compute: two at once also on two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    globals: false,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // V8 13.6 can free WebAssembly wrappers twice that several threads share (nodejs/node#66366), and
    // each thread here strips types with WebAssembly: nothing of it is freed while tests run.
    execArgv: ["--disable-warning=ExperimentalWarning", "--no-wasm-code-gc"],
  },
});
