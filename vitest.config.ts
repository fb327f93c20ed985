import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { BUILD_URL, HOME } from "./test/support/build/place.ts";
import { chosenSeed } from "./test/support/random.ts";
import { LongestFirst } from "./test/support/sequencer.ts";

const source = (file: string): string => join(import.meta.dirname, "src", file);

// One seed for all that is random in a run, so that one number repeats it.
process.env["BATON_SEED"] ??= String(chosenSeed());

// Hubs store their tokens in the home folder: here, one of the run's own.
for (const name of ["HOME", "USERPROFILE"]) process.env[name] = HOME;

/** Threads and processes of a store start from the run's build: there is nothing to compile each time. */
const startFromBuild: Plugin = {
  name: "threads and processes from the build",
  transform(code, id) {
    const starts = ["store", "memory"].some((folder) => id.startsWith(source(folder)));
    if (!(starts && code.includes("import.meta.url"))) return null;
    const place = relative(source(""), id).replace(/\.ts$/, ".js");
    // Read when it runs: Vitest keeps what is transformed for later runs, whose build is elsewhere.
    const url = `(process.env.${BUILD_URL} + "/dist/${place}")`;
    return { code: code.replaceAll("import.meta.url", url), map: null };
  },
};

export default defineConfig({
  plugins: [startFromBuild],
  resolve: {
    // The examples import the package as users do; here that is the sources (tsconfig.json says so too).
    alias: [
      { find: /^batonpass$/, replacement: source("index.ts") },
      { find: /^batonpass\/client$/, replacement: source("client/index.ts") },
      { find: /^batonpass\/testing$/, replacement: source("testing/index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/postgres/global-setup.ts", "test/support/build/global-setup.ts"],
    setupFiles: ["test/support/setup.ts"],
    pool: "forks",
    // One more than there are cores: workers spend a sixth of their time waiting for leases and processes.
    maxWorkers: availableParallelism() + 1,
    // Files share the processes: evaluating the sources again for each took a third of the time.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    globals: false,
    // Only what hangs takes this long, also on a machine that is busy with something else.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // V8 13.6 can free WebAssembly wrappers twice that several threads share (nodejs/node#66366), and
    // each thread here strips types with WebAssembly: nothing of it is freed while tests run.
    execArgv: ["--disable-warning=ExperimentalWarning", "--no-wasm-code-gc"],
  },
});
