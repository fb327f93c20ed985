/**
 * A file of an earlier version is brought up to date when it is opened, with all it holds. The old
 * file is made by the steps that were shipped, and filled with rows as they were written then.
 */
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DeliveryRow, type Hub, openHub } from "../../src/index.ts";
import { isOpen } from "../../src/store/rows.ts";
import { migrate } from "../../src/store/sqlite/migrations.ts";
import { openRichStore } from "../support/rich-store.ts";
import { rowsOf, tablesOf } from "../support/store-dump.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const LEASE_MS = 1_000_000;
const TASKS = ["auth-refactor", "in-line", "both-held", "second-try", "fails-once"];

describe("a file of version 1", () => {
  const folder = temporaryFolder();
  const newest = folder.file("newest.db");
  const old = folder.file("old.db");

  beforeAll(async () => {
    const { hub, other } = await openRichStore(newest);
    await hub.close();
    await other.close();
    await holdBoth(newest);
    makeVersionOne(old, newest);
  });

  afterAll(() => folder[Symbol.dispose]());

  const copyOfOld = (name: string): string => {
    const copy = folder.file(name);
    const db = new DatabaseSync(old);
    db.prepare("vacuum into ?").run(copy);
    db.close();
    return copy;
  };

  it("is what version 1 made: no turns, no processes", () => {
    const db = new DatabaseSync(old, { readOnly: true });
    expect(rowsOf(db, "migrations").map((row) => row["version"])).toEqual([1]);
    const [delivery = {}] = rowsOf(db, "deliveries");
    expect(Object.keys(delivery)).not.toContain("turn");
    expect(Object.keys(delivery)).not.toContain("process");
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
      // What had ended before there were turns counts as having been in turn.
      const inTurn = (row: DeliveryRow) => row.inTurn || !isOpen(row.state);
      expect(is).toEqual(was?.map((row) => ({ ...row, process: "", inTurn: inTurn(row) })));
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

  it("may be opened by several at once", async () => {
    const file = copyOfOld("crowd.db");
    const hubs = await Promise.all([1, 2, 3].map(() => openHub(`sqlite:${file}`)));
    for (const hub of hubs) expect((await hub.verify()).problems).toEqual([]);
    await Promise.all(hubs.map((hub) => hub.close()));
  });
});

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
function makeVersionOne(file: string, from: string): void {
  const db = new DatabaseSync(file);
  migrate(db, file, { now: 1, to: 1 });
  db.prepare("attach ? as newer").run(from);
  for (const table of tablesOf(db).filter((name) => name !== "migrations")) {
    const columns = db.prepare(`pragma table_info("${table}")`).all();
    const names = columns.map((column) => `"${column["name"]}"`).join(", ");
    db.exec(`insert into main."${table}" (${names}) select ${names} from newer."${table}"`);
  }
  db.close();
}
