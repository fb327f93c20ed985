/**
 * Kills hubs on one PostgreSQL database at random moments: what was acknowledged is stored once.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestSchema, testSchema } from "../../support/postgres/schema.ts";
import { chosenSeed } from "../../support/random.ts";
import { runs } from "../../support/runs.ts";
import { type KillReport, killRun } from "../kill-run.ts";
import { withConnectionName } from "../server-done.ts";

const KILLS = runs(4);
const TIMEOUT_MS = 120_000 + KILLS * 5_000;
const KINDS = ["remembered", "sent", "accepted", "noted", "completed"] as const;
const seed = chosenSeed();

describe(`hubs on PostgreSQL killed ${KILLS} times (BATON_SEED=${seed})`, () => {
  let schema: TestSchema;
  let report: KillReport;

  beforeAll(async () => {
    schema = testSchema();
    const address = withConnectionName(schema.address, schema.schema);
    report = await killRun({ address, kills: KILLS, kinds: KINDS, seed });
    console.log(`kill test, seed ${seed}:`, report.byKind, "redelivered", report.redelivered);
  }, TIMEOUT_MS);

  afterAll(() => schema[Symbol.asyncDispose]());

  it("are killed often enough, with every kind of write acknowledged", () => {
    expect(report.kills).toBeGreaterThanOrEqual(KILLS);
    for (const kind of KINDS) expect(report.byKind[kind] ?? 0, kind).toBeGreaterThan(0);
  });

  it("leave every acknowledged write stored once, without gaps in chains or events [DLV-1 OPS-10]", () => {
    expect(report.violations).toEqual([]);
  });

  it("have their work redelivered after the lease expires, and completed once [DLV-6]", () => {
    expect(report.redelivered).toBeGreaterThan(0);
    expect(report.violations).toEqual([]);
  });
});
