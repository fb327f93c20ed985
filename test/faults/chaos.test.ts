/** Runs a short, seeded chaos test; `npm run chaos` runs a long one. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testSchema } from "../support/postgres/schema.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type ChaosReport, chaosRun } from "./chaos/run.ts";

const FOR_MS = runs(2_000);
const TIMEOUT_MS = 240_000 + 2 * FOR_MS;
/** Each process is killed at least once. */
const PROCESSES = 4;
const LIFE_MS = 1_500;
const KINDS = ["sent", "accepted", "completed", "failed", "expired"] as const;
const seed = chosenSeed();

describe.each(["sqlite", "postgres"])(`a chaos run on %s (BATON_SEED=${seed})`, (store) => {
  const folder = temporaryFolder();
  const schema = testSchema();
  let report: ChaosReport;

  beforeAll(async () => {
    const address = store === "sqlite" ? `sqlite:${folder.file("hub.db")}` : schema.address;
    const options = { forMs: FOR_MS, lifeMs: LIFE_MS, processes: PROCESSES, kinds: KINDS };
    report = await chaosRun({ address, seed, ...options });
    const { kills, stops, redelivered, refused, deliveries } = report;
    console.log(`chaos on ${store}:`, { kills, stops, redelivered, refused, deliveries });
  }, TIMEOUT_MS);

  afterAll(async () => {
    folder[Symbol.dispose]();
    await schema[Symbol.asyncDispose]();
  });

  it("kills processes, redelivers work and records every required kind of event", () => {
    expect(report.kills).toBeGreaterThan(3);
    expect(report.redelivered).toBeGreaterThan(0);
    for (const kind of KINDS) {
      expect(report.events[kind] ?? 0, kind).toBeGreaterThan(0);
    }
  });

  it("keeps one holder per delivery, settles each attempt once and loses nothing [DLV-1 DLV-6]", () => {
    expect(report.violations).toEqual([]);
  });
});
