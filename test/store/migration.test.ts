/** Upgrading a SQLite store, proved with a next schema step that exists in tests only. */
import { copyFileSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { openHub } from "../../src/index.ts";
import { DELIVERY_STATES } from "../../src/store/rows.ts";
import type { SchemaStep } from "../../src/store/schema-steps.ts";
import { restoreFile } from "../../src/store/sqlite/archive/restore.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/store/store.ts";
import { refused } from "../support/refusal.ts";
import { openRichStore } from "../support/rich-store.ts";
import { dumpStore, type StoreDump } from "../support/store-dump.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { FAILING_SQLITE, NEXT_SQLITE } from "./next-step.ts";
import { race } from "./next-step-race.ts";

/** The leases of what is held are still valid. */
const CLOCK = { now: () => 1_800_000_100_000 };
const LEASE_MS = 1_000_000;

const openWith = (file: string, steps: readonly SchemaStep[]): Promise<Store> =>
  openSqliteStore({ file, clock: CLOCK, limits: DEFAULT_LIMITS, steps });

describe("a SQLite store of the version before", () => {
  const folder = temporaryFolder();
  const made = folder.file("made.db");
  let before: StoreDump;

  beforeAll(async () => {
    const { hub, other } = await openRichStore(made);
    await hub.close();
    await other.close();
    before = dumpStore(made);
  });

  afterAll(() => folder[Symbol.dispose]());

  const copied = (name: string): string => {
    const copy = folder.file(name);
    copyFileSync(made, copy);
    return copy;
  };

  it("gets the next step when it is opened, and keeps all it holds", async () => {
    const file = copied("next.db");
    const store = await openWith(file, NEXT_SQLITE);
    for (const workspace of ["default", "other"]) {
      expect((await store.verify(workspace)).problems).toEqual([]);
    }
    await store.close();
    const { migrations = [], labels = [], deliveries = [], ...rest } = dumpStore(file);
    expect(migrations.map(({ version, name }) => [version, name])).toEqual([
      [1, "initial schema"],
      [2, "labels"],
    ]);
    const isAccepted = (state: unknown) => DELIVERY_STATES[Number(state)] === "accepted";
    expect(deliveries).toEqual(
      before["deliveries"]?.map((row) => ({
        ...row,
        label: isAccepted(row["state"]) ? row["task"] : "",
      })),
    );
    expect(labels.length).toBeGreaterThan(0);
    const { migrations: _, deliveries: __, ...had } = before;
    expect(rest).toEqual(had);
  });

  it("is worked on after the upgrade: a lease is renewed, and the store is opened again", async () => {
    const file = copied("held.db");
    const store = await openWith(file, NEXT_SQLITE);
    const envelopes = await store.readLine("default", "stays-accepted");
    const [held] = envelopes.flatMap(({ deliveries }) => deliveries);
    const { id: delivery = "", fence = 0, envelope = "" } = held ?? {};
    const lease = { delivery, fence, envelope, leaseMs: LEASE_MS };
    const leaseUntil = CLOCK.now() + LEASE_MS;
    expect(await store.renewLease("default", lease)).toMatchObject({ delivery: { leaseUntil } });
    await store.close();
    const again = await openWith(file, NEXT_SQLITE);
    expect((await again.findDelivery("default", delivery))?.delivery).toMatchObject({ leaseUntil });
    await again.close();
    expect(dumpStore(file)["migrations"]).toHaveLength(2);
  });

  it("gets each step once when several processes open it at the same moment", async () => {
    const file = copied("race.db");
    await race(file, 4);
    const { migrations = [], labels = [] } = dumpStore(file);
    expect(migrations.map(({ version }) => version)).toEqual([1, 2]);
    expect(labels.length).toBeGreaterThan(0);
  });

  it("gets all steps when it is new, also in several processes at the same moment", async () => {
    const file = folder.file("new.db");
    await race(file, 4);
    const versions = dumpStore(file)["migrations"]?.map(({ version }) => version);
    expect(versions).toEqual([1, 2]);
  });

  it("stays as it was when a step fails", async () => {
    const file = copied("failing.db");
    await expect(openWith(file, FAILING_SQLITE)).rejects.toThrow("no_such_table");
    expect(dumpStore(file)).toEqual(before);
    await using hub = await openHub(`sqlite:${file}`);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("gets the next step when its backup is restored", async () => {
    const [backup, file] = [folder.file("backup.db"), folder.file("restored.db")];
    const hub = await openHub(`sqlite:${made}`);
    await hub.archive.backup(backup);
    await hub.close();
    const onProgress = () => {};
    await restoreFile({ backup, file, force: false, clock: CLOCK, onProgress, steps: NEXT_SQLITE });
    const { migrations = [], memories, labels = [] } = dumpStore(file);
    expect(migrations.map(({ version }) => version)).toEqual([1, 2]);
    expect(memories).toEqual(before["memories"]);
    expect(labels.length).toBeGreaterThan(0);
  });

  it("is refused by the version before once it was upgraded, and not changed", async () => {
    const file = copied("too-new.db");
    await (await openWith(file, NEXT_SQLITE)).close();
    new DatabaseSync(file).close();
    const bytes = readFileSync(file);
    const error = await refused(() => openHub(`sqlite:${file}`), {
      code: "store_too_new",
      path: file,
    });
    expect(error.details).toEqual({ found: 2, known: 1 });
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });
});
