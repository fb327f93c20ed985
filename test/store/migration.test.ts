/**
 * A file of an earlier version is brought up to date when it is opened, with all it holds. The old
 * file is made by the steps that were shipped, and filled with rows as they were written then.
 */
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { type DeliveryRow, type Hub, openHub } from "../../src/index.ts";
import { isHeld, isOpen } from "../../src/store/rows.ts";
import { migrate } from "../../src/store/sqlite/migrations.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { openRichStore } from "../support/rich-store.ts";
import { rowsOf, tablesOf } from "../support/store-dump.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const LEASE_MS = 1_000_000;
const TASKS = ["auth-refactor", "in-line", "both-held", "second-try", "fails-once"];

/** Columns of deliveries that a version did not have yet. */
const NOT_YET = {
  1: ["turn", "process", "hold_until", "deadline", "lapse_at", "followers"],
  2: ["hold_until", "deadline", "lapse_at", "followers"],
} as const;

describe.each([1, 2] as const)("a file of version %i", (version) => {
  const folder = temporaryFolder();
  const newest = folder.file("newest.db");
  const old = folder.file("old.db");

  beforeAll(async () => {
    const { hub, other } = await openRichStore(newest);
    await hub.close();
    await other.close();
    await holdBoth(newest);
    makeOld(old, { from: newest, version });
  });

  afterAll(() => folder[Symbol.dispose]());

  const copyOfOld = (name: string): string => {
    const copy = folder.file(name);
    const db = new DatabaseSync(old);
    db.prepare("vacuum into ?").run(copy);
    db.close();
    return copy;
  };

  it("is what that version made: it lacks what came later", () => {
    const db = new DatabaseSync(old, { readOnly: true });
    const versions = rowsOf(db, "migrations").map((row) => row["version"]);
    expect(versions).toEqual([1, 2].slice(0, version));
    const [delivery = {}] = rowsOf(db, "deliveries");
    for (const column of NOT_YET[version]) expect(Object.keys(delivery)).not.toContain(column);
    expect(tablesOf(db)).not.toContain("entries");
    db.close();
  });

  it("holds the same afterwards, verifies, and knows whose turn it is", async () => {
    await using upgraded = await openHub(`sqlite:${copyOfOld("same.db")}`);
    await using made = await openHub(`sqlite:${newest}`);
    expect((await upgraded.verify()).problems).toEqual([]);
    expect(await upgraded.books()).toEqual(await made.books());
    expect(await upgraded.events(0, 1_000)).toEqual(await made.events(0, 1_000));
    expect(await upgraded.recent({ limit: 1_000 })).toEqual(await made.recent({ limit: 1_000 }));
    for (const task of TASKS) {
      const [is, was] = await Promise.all([upgraded, made].map((hub) => deliveriesOf(hub, task)));
      expect(is?.length, task).toBeGreaterThan(0);
      expect(is).toEqual(was?.map((row) => sinceUpgraded(row, version)));
      for (const { id } of is ?? []) {
        expect(await upgraded.attempts(id)).toEqual(await made.attempts(id));
      }
    }
  });

  it("holds every workspace's own, in both", async () => {
    const file = copyOfOld("other.db");
    await using other = await openHub(`sqlite:${file}`, { workspace: "other" });
    expect((await other.verify()).problems).toEqual([]);
    expect(await other.books()).toMatchObject({ envelopes: 1, deliveries: 1 });
    expect(await other.events()).toHaveLength(1);
  });

  it("is worked off in the right order, also where two of a task were held at once", async () => {
    const clock = { now: () => 1_900_000_000_000 }; // All leases have run out.
    const file = copyOfOld("order.db");
    await using hub = await openHub(`sqlite:${file}`, { clock, limits: { leaseMs: LEASE_MS } });
    const idle = await hub.agent("idle");
    const senders: string[] = [];
    for await (const offer of idle.inbox({ wait: false, task: "both-held" })) {
      senders.push(offer.from);
      await (await offer.accept()).complete();
    }
    expect(senders).toEqual(["planner", "reviewer"]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("lets a holder keep what it held, however long that was", async () => {
    const file = copyOfOld("held.db");
    const clock = { now: () => 1_800_000_100_000 }; // The leases are good.
    const store = await openSqliteStore({ file, clock, limits: DEFAULT_LIMITS });
    const envelopes = await store.readLine("default", "stays-accepted");
    const [held] = envelopes.flatMap(({ deliveries }) => deliveries);
    expect(held?.state).toBe("accepted");
    const { id: delivery = "", fence = 0, envelope = "" } = held ?? {};
    const lease = { delivery, fence, envelope, leaseMs: LEASE_MS };
    expect(await store.renewLease("default", lease)).toMatchObject({
      kind: "renewed",
      delivery: { leaseUntil: clock.now() + LEASE_MS },
    });
    await store.close();
  });

  it("may be opened by several at once", async () => {
    const file = copyOfOld("crowd.db");
    const hubs = await Promise.all([1, 2, 3].map(() => openHub(`sqlite:${file}`)));
    for (const hub of hubs) expect((await hub.verify()).problems).toEqual([]);
    await Promise.all(hubs.map((hub) => hub.close()));
  });
});

/** What a row has instead of what its version could not say. */
function sinceUpgraded(row: DeliveryRow, version: 1 | 2): DeliveryRow {
  // There was no longest hold: whoever had it then can keep it.
  const held = { ...row, holdUntil: isHeld(row.state) ? Number.MAX_SAFE_INTEGER : 0 };
  if (version > 1) return held;
  // What had ended before there were turns counts as having been in turn.
  return { ...held, process: "", inTurn: row.inTurn || !isOpen(row.state) };
}

async function deliveriesOf(hub: Hub, task: string): Promise<DeliveryRow[]> {
  return (await hub.line(task)).flatMap(({ deliveries }) => deliveries);
}

/** Version 1 knew no turns: a later piece of work could be held while an earlier one was. */
async function holdBoth(file: string): Promise<void> {
  await using hub = await openHub(`sqlite:${file}`, { limits: { leaseMs: LEASE_MS } });
  for (const sender of ["planner", "reviewer"]) {
    const agent = await hub.agent(sender);
    await agent.handoff({ to: "idle", task: "both-held", intent: `From ${sender}` });
  }
  const idle = await hub.agent("idle");
  const [first, second] = await idle.waiting();
  await idle.accept({ delivery: first?.delivery.id });
  const db = new DatabaseSync(file, { timeout: 5_000 });
  const set = db.prepare("update deliveries set turn = ? where id = ?");
  set.run(1, second?.delivery.id ?? "");
  await idle.accept({ delivery: second?.delivery.id });
  set.run(0, second?.delivery.id ?? "");
  db.close();
}

/** The tables as they were then, with the columns they had, filled from a newer file. */
function makeOld(
  file: string,
  { from, version }: { readonly from: string; readonly version: number },
): void {
  const db = new DatabaseSync(file);
  migrate(db, file, { now: 1, to: version });
  db.prepare("attach ? as newer").run(from);
  for (const table of tablesOf(db).filter((name) => name !== "migrations")) {
    const columns = db.prepare(`pragma table_info("${table}")`).all();
    const names = columns.map((column) => `"${column["name"]}"`).join(", ");
    db.exec(`insert into main."${table}" (${names}) select ${names} from newer."${table}"`);
  }
  db.close();
}
