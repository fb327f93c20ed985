import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    globals: false,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    execArgv: ["--disable-warning=ExperimentalWarning"],
  },
});
