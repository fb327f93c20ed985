/** Upgrades a SQLite store with a next schema step that exists only in tests. */
import { copyFileSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { openHub } from "../../src/index.ts";
import { DELIVERY_STATES } from "../../src/store/rows.ts";
import type { SchemaStep } from "../../src/store/schema-steps.ts";
import { restoreFile } from "../../src/store/sqlite/archive/restore.ts";
import { SQLITE_STEPS } from "../../src/store/sqlite/migrations.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/store/store.ts";
import { refused } from "../support/refusal.ts";
import { openRichStore } from "../support/rich-store.ts";
import { dumpStore, type StoreDump } from "../support/store-dump.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { FAILING_SQLITE, NEXT_SQLITE } from "./next-step.ts";
import { race } from "./next-step-race.ts";

/** Early enough that the leases in the store are still valid. */
const CLOCK = { now: () => 1_800_000_100_000 };
const LEASE_MS = 1_000_000;

const openWith = (file: string, steps: readonly SchemaStep[]): Promise<Store> =>
  openSqliteStore({ file, clock: CLOCK, limits: DEFAULT_LIMITS, steps });

const NEXT_VERSIONS = NEXT_SQLITE.map(({ version }) => version);
/** Tables with row sums. */
const SUMMED = ["deliveries", "attempts", "events", "entries", "models", "vectors", "signatures"];

/** Turns a file into one of the first version, with an own row for each event. */
const FIRST_VERSION = `
  create table events (number integer primary key, workspace integer not null, at integer not null,
    attempt integer not null, kind text not null, agent text not null, task text not null,
    delivery text not null, envelope text not null, sum integer not null) strict;
  insert into events select g.last - g.count + 1 + e.key, workspace, at, e.value ->> 0,
    e.value ->> 1, e.value ->> 2, e.value ->> 3, e.value ->> 4, e.value ->> 5, 0
    from event_groups g, json_each(g.text) e;
  create index events_workspace on events (workspace);
  drop table event_groups;
  ${SUMMED.map((table) => `alter table ${table} drop column sum;`).join("\n")}
  delete from migrations where version > 1;`;

describe("a SQLite store of the previous version", () => {
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

  it("is upgraded when it is opened, and keeps its data", async () => {
    const file = copied("next.db");
    const store = await openWith(file, NEXT_SQLITE);
    for (const workspace of ["default", "other"]) {
      expect((await store.verify(workspace)).problems).toEqual([]);
    }
    await store.close();
    const { migrations = [], labels = [], deliveries = [], ...rest } = dumpStore(file);
    expect(migrations.map(({ name }) => name)).toEqual(NEXT_SQLITE.map(({ name }) => name));
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

  it("gets the row sums that it would have been written with, and keeps its events", async () => {
    await using as = await openHub(`sqlite:${copied("as-made.db")}`);
    const events = await as.events.list({ limit: 1_000 });
    const file = copied("without-sums.db");
    const db = new DatabaseSync(file);
    db.exec(FIRST_VERSION);
    db.close();
    await using hub = await openHub(`sqlite:${file}`);
    expect((await hub.verify()).problems).toEqual([]);
    expect(await hub.events.list({ limit: 1_000 })).toEqual(events);
    const { migrations: _, event_groups: rows = [], ...upgraded } = dumpStore(file);
    const { migrations: __, event_groups: ___, ...written } = before;
    expect(upgraded).toEqual(written);
    expect(rows.every(({ count }) => count === 1)).toBe(true);
  });

  it("renews a lease after the upgrade, and can be reopened", async () => {
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
    expect(dumpStore(file)["migrations"]).toHaveLength(NEXT_VERSIONS.length);
  });

  it("applies each step once when several processes open it at the same moment", async () => {
    const file = copied("race.db");
    await race(file, 4);
    const { migrations = [], labels = [] } = dumpStore(file);
    expect(migrations.map(({ version }) => version)).toEqual(NEXT_VERSIONS);
    expect(labels.length).toBeGreaterThan(0);
  });

  it("applies all steps when several processes create it at the same moment", async () => {
    const file = folder.file("new.db");
    await race(file, 4);
    const versions = dumpStore(file)["migrations"]?.map(({ version }) => version);
    expect(versions).toEqual(NEXT_VERSIONS);
  });

  it("stays unchanged when a step fails", async () => {
    const file = copied("failing.db");
    await expect(openWith(file, FAILING_SQLITE)).rejects.toThrow("no_such_table");
    expect(dumpStore(file)).toEqual(before);
    await using hub = await openHub(`sqlite:${file}`);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("is upgraded when its backup is restored", async () => {
    const [backup, file] = [folder.file("backup.db"), folder.file("restored.db")];
    const hub = await openHub(`sqlite:${made}`);
    await hub.archive.backup(backup);
    await hub.close();
    const onProgress = () => {};
    await restoreFile({ backup, file, force: false, clock: CLOCK, onProgress, steps: NEXT_SQLITE });
    const { migrations = [], memories, labels = [] } = dumpStore(file);
    expect(migrations.map(({ version }) => version)).toEqual(NEXT_VERSIONS);
    expect(memories).toEqual(before["memories"]);
    expect(labels.length).toBeGreaterThan(0);
  });

  it("is refused by the previous version after the upgrade, and stays unchanged", async () => {
    const file = copied("too-new.db");
    await (await openWith(file, NEXT_SQLITE)).close();
    new DatabaseSync(file).close();
    const bytes = readFileSync(file);
    const error = await refused(() => openHub(`sqlite:${file}`), {
      code: "store_too_new",
      path: file,
    });
    expect(error.details).toEqual({ found: NEXT_VERSIONS.length, known: SQLITE_STEPS.length });
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });
});
