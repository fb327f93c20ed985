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
    execArgv: ["--disable-warning=ExperimentalWarning"],
  },
});
