/** Fuzzed calls to a real hub over a real socket. `npm run fuzz` runs many more. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../../src/operations/index.ts";
import { STREAMS } from "../../src/operations/streams.ts";
import { tempFolder } from "../support/hub/support.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";
import { FUZZED_HUB, fuzz } from "./fuzz/run.ts";
import { listened } from "./support.ts";

const REQUESTS = runs(600);

describe("fuzzed calls", () => {
  it("are answered without a 500, and store nothing when they are refused [OPS-7]", {
    timeout: runs(120_000),
  }, async () => {
    const seed = chosenSeed();
    console.log(`fuzz seed ${seed}: npm run fuzz -- --requests ${REQUESTS} --seed ${seed}`);
    const file = join(tempFolder(), "hub.db");
    const { hub, listening, bugs } = await listened(`sqlite:${file}`, { hub: FUZZED_HUB });
    const report = await fuzz({ hub, port: listening.port, file, requests: REQUESTS, seed });
    expect(report.violations, `seed ${seed}`).toEqual([]);
    expect(bugs).toEqual([]);
    expect(report.requests).toBe(REQUESTS);
    // Not all calls were refused, and not all of them before validation.
    expect(report.byStatus["200"]).toBeGreaterThan(0);
    expect(report.byStatus["400"]).toBeGreaterThan(0);
    // Every operation and stream of the table was called.
    const names = [...OPERATIONS.map(({ name }) => name), ...Object.keys(STREAMS)];
    expect(Object.keys(report.byOperation).sort()).toEqual(names.sort());
  });
});
