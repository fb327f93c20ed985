/** A short chaos, seeded: the long one is `npm run chaos`. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testSchema } from "../support/postgres/schema.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type ChaosReport, chaosRun } from "./chaos/run.ts";

const FOR_MS = runs(2_000);
const TIMEOUT_MS = 240_000 + 2 * FOR_MS;
/** Each of them is killed at least once. */
const PROCESSES = 4;
const LIFE_MS = 1_500;
const KINDS = ["sent", "accepted", "completed", "failed", "expired"] as const;
const seed = chosenSeed();

describe.each(["sqlite", "postgres"])(`chaos on %s (BATON_SEED=${seed})`, (store) => {
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

  it("did enough to prove anything", () => {
    expect(report.kills).toBeGreaterThan(3);
    expect(report.redelivered).toBeGreaterThan(0);
    for (const kind of KINDS) {
      expect(report.events[kind] ?? 0, kind).toBeGreaterThan(0);
    }
  });

  it("no two held one delivery, each was settled once, late answers were refused, nothing was lost and the books balance [DLV-1 DLV-6]", () => {
    expect(report.violations).toEqual([]);
  });
});
