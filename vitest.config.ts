import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/postgres/global-setup.ts"],
    pool: "forks",
    globals: false,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    execArgv: ["--disable-warning=ExperimentalWarning"],
  },
});
