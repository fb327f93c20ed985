import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
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
