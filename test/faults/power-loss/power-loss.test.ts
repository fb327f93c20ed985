/**
 * Power cuts and failing disks: what the store writes and syncs is recorded, and replayed up to a random
 * moment onto a disk that drops, tears and reorders what was not synced. `npm run powerloss` is the long
 * form.
 */
import { describe, expect, it } from "vitest";
import { chosenSeed, type Random, randomFrom } from "../../support/random.ts";
import { failedCheckpoint, faultScenarios } from "./fault-plans.ts";
import { cutPower } from "./power-loss.ts";
import { whyNotRecorded } from "./recording.ts";
import type { Scenario } from "./scenarios.ts";

const missing = whyNotRecorded();
const seed = chosenSeed();
const random = randomFrom(seed);
const plain: Scenario = { name: "plain", kind: "short", seed };
const failingSync = (times: number): Scenario => ({
  ...plain,
  name: `failing-sync-${times}`,
  fault: { op: "sync", file: "hub.db-wal", skip: 5, times, error: "EIO" },
});

/** The sync of the folder after the log was created; SQLite ignores its error. */
const failingFolderSync: Scenario = {
  ...plain,
  name: "failing-folder-sync",
  fault: { op: "sync", file: "/.baton", skip: 1, times: 1, error: "EIO" },
};

const title = `a power cut (${missing === undefined ? `BATON_SEED=${seed}` : `skipped: ${missing}`})`;

describe.skipIf(missing !== undefined)(title, () => {
  it("loses nothing that was acknowledged, in a folder that is new too [DLV-1]", async () => {
    const { violations } = await cutPower({ scenarios: [plain], states: 40, seed });
    expect(violations).toEqual([]);
  });

  it("loses nothing after the sync of a checkpoint failed, and closing keeps the log [DLV-1]", async () => {
    const report = await cutPower({ scenarios: [failedCheckpoint(seed)], states: 4, seed });
    const calls = report.recordings[0]?.calls ?? [];
    const failed = calls.findIndex(({ kind, error }) => kind === "sync" && error !== 0);
    expect(failed).toBeGreaterThan(0);
    expect(report.violations).toEqual([]);
    const deleted = calls.slice(failed).filter(({ kind }) => kind === "unlink");
    expect(deleted.map(({ data }) => data.toString())).not.toContainEqual(
      expect.stringMatching(/hub\.db-wal\0$/),
    );
  });

  it("loses nothing after the sync of the log's folder failed [DLV-1]", async () => {
    const { violations } = await cutPower({ scenarios: [failingFolderSync], states: 30, seed });
    expect(violations).toEqual([]);
  });

  it("stores a write once whose sync failed and which was repeated [DLV-1]", async () => {
    const { recordings, violations } = await cutPower({
      scenarios: [failingSync(1), failingSync(2)],
      states: 15,
      seed,
    });
    expect(violations).toEqual([]);
    const [once, twice] = recordings.map(({ notes }) => notes);
    expect(once).not.toContainEqual(expect.objectContaining({ outcome: "uncertain" }));
    expect(twice).toContainEqual({ item: 0, outcome: "uncertain" });
    expect(twice).toContainEqual({ item: 0, outcome: "stored" });
  });

  it("reports a write as uncertain whose every sync failed: it may be there [DLV-1]", async () => {
    const { recordings, violations } = await cutPower({
      scenarios: [failingSync(6)],
      states: 30,
      seed,
    });
    expect(violations).toEqual([]);
    const notes = recordings[0]?.notes.filter((note) => "item" in note && note.item === 0);
    expect(notes).toEqual(Array(3).fill({ item: 0, outcome: "uncertain" }));
  });

  it("loses nothing with any write or sync failing, or the disk full [DLV-1]", async () => {
    const { recordings } = await cutPower({ scenarios: [plain], states: 1, seed });
    const scenarios = sample(recordings.flatMap(faultScenarios), 12, random);
    const { violations } = await cutPower({ scenarios, states: 3, seed });
    expect(violations).toEqual([]);
  });
});

function sample<T>(items: readonly T[], count: number, random: Random): T[] {
  const left = [...items];
  return Array.from({ length: count }, () => left.splice(random.below(left.length), 1)).flat();
}
