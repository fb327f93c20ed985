/** `baton repair` on stores with one flipped bit or one changed row. */
import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, it } from "vitest";
import { openHub } from "../../src/index.ts";
import { repair } from "../../src/open/repair-store.ts";
import { refused } from "../support/refusal.ts";
import { dumpStore } from "../support/store-dump.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";

const HANDOFFS = 40;
const folders: TemporaryFolder[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) folder[Symbol.dispose]();
});

/** Makes a closed store with work for "tester". */
async function filledStore(): Promise<{ file: string; address: string }> {
  const folder = temporaryFolder();
  folders.push(folder);
  const file = folder.file("hub.db");
  const address = `sqlite:${file}`;
  await using hub = await openHub(address);
  const planner = await hub.agent("planner", { aliases: ["lead"] });
  await hub.agent("tester", {});
  const first = await planner.remember({ content: "first" });
  await planner.remember({ content: "second", relations: [{ kind: "supports", to: first.id }] });
  for (let n = 0; n < HANDOFFS; n++)
    await planner.handoff({ to: "tester", task: `task-${n}`, intent: `Do part ${n}` });
  return { file, address };
}

/**
 * Flips the lowest bit of the last byte of `text` in a page of a table or index, where it is in use: pages
 * also contain what was deleted.
 */
function flip(file: string, name: string, text: string): void {
  const db = new DatabaseSync(file, { readOnly: true });
  const pages = db.prepare("select pageno, pgsize from dbstat where name = ?").all(name);
  db.close();
  const bytes = readFileSync(file);
  for (const { pageno, pgsize } of pages as { pageno: number; pgsize: number }[]) {
    const page = bytes.subarray((pageno - 1) * pgsize, pageno * pgsize);
    for (let at = page.indexOf(text); at >= 0; at = page.indexOf(text, at + 1)) {
      const last = at + Buffer.byteLength(text) - 1;
      page[last] = (page[last] ?? 0) ^ 1;
      writeFileSync(file, bytes);
      if (!isIntact(file)) return;
      page[last] = (page[last] ?? 0) ^ 1;
    }
  }
  throw new Error(`${name} does not contain ${text}`);
}

function isIntact(file: string): boolean {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return db.prepare("pragma integrity_check").get()?.["integrity_check"] === "ok";
  } finally {
    db.close();
  }
}

/** Changes a table while SQLite does not know one of its indexes, so that the two disagree. */
function changeWithoutIndex(file: string, index: string, sql: string): void {
  const db = new DatabaseSync(file);
  const row = db.prepare("select * from sqlite_schema where name = ?").get(index) ?? {};
  db.close();
  const { type, name, tbl_name: table, rootpage, sql: definition } = row;
  withSchema(file, (open) => open.prepare("delete from sqlite_schema where name = ?").run(index));
  change(file, sql);
  withSchema(file, (open) =>
    open
      .prepare("insert into sqlite_schema values (?, ?, ?, ?, ?)")
      .run(type ?? "", name ?? "", table ?? "", rootpage ?? 0, definition ?? ""),
  );
}

function withSchema(file: string, edit: (db: DatabaseSync) => unknown): void {
  const db = new DatabaseSync(file, { defensive: false });
  db.exec("pragma writable_schema = on");
  edit(db);
  db.close();
}

function change(file: string, sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}

async function verified(address: string) {
  await using hub = await openHub(address);
  return (await hub.verify()).problems;
}

/** Accepts one delivery, and ends without settling it. */
async function holdOne(address: string): Promise<void> {
  await using hub = await openHub(address);
  await (await hub.agent("tester")).accept();
}

async function claimable(address: string): Promise<number> {
  await using hub = await openHub(address);
  const tester = await hub.agent("tester");
  let count = 0;
  for await (const _offer of tester.inbox({ wait: false })) count++;
  return count;
}

describe("a flipped bit in the index that claims are read from", () => {
  it("is reported, and repair rebuilds the index so that all work can be claimed [DLV-1]", async () => {
    const { file, address } = await filledStore();
    flip(file, "deliveries_ready", "tester");
    const problems = await verified(address);
    expect(problems.map(({ field }) => field)).toContain("index deliveries_ready");
    expect(await repair(address, { dryRun: true })).toMatchObject({ kept: "" });
    expect(await verified(address)).toEqual(problems);
    const { rebuilt, problems: left, kept } = await repair(address, { dryRun: false });
    expect({ rebuilt, left }).toEqual({ rebuilt: ["index deliveries_ready"], left: [] });
    expect(dumpStore(kept)["deliveries"]).toHaveLength(HANDOFFS);
    expect(await verified(address)).toEqual([]);
    expect(await claimable(address)).toBe(HANDOFFS);
  });
});

describe("repair", () => {
  it("changes nothing in a sound store", async () => {
    const { address } = await filledStore();
    expect(await repair(address, { dryRun: false })).toEqual({
      rebuilt: [],
      problems: [],
      kept: "",
    });
  });

  it("rebuilds relations and agent names from records that verify [MEM-1]", async () => {
    const { file, address } = await filledStore();
    const before = dumpStore(file);
    change(file, "delete from relations; update agent_names set name = 'leaf' where name = 'lead'");
    const { rebuilt, problems } = await repair(address, { dryRun: false });
    expect(problems).toEqual([]);
    expect(rebuilt).toContain("agent names");
    expect(dumpStore(file)).toEqual(before);
  });

  it.each([
    ["a changed record", "memories", "update memories set text = replace(text, 'first', 'fifth')"],
    [
      "a changed envelope",
      "envelopes",
      "update envelopes set text = replace(text, 'part 7', 'part 8')",
    ],
    ["a changed event", "event_groups", "update event_groups set at = at + 1 where last = 3"],
    ["a changed delivery", "deliveries", "update deliveries set place = place + 1 where pos = 3"],
  ])("reports %s, and leaves it as it is [MEM-1]", async (_, table, damage) => {
    const { file, address } = await filledStore();
    change(file, damage);
    const before = dumpStore(file);
    const { rebuilt, problems, kept } = await repair(address, { dryRun: false });
    expect({ rebuilt, kept }).toEqual({ rebuilt: [], kept: "" });
    expect(problems.length).toBeGreaterThan(0);
    expect(dumpStore(file)[table]).toEqual(before[table]);
  });

  it.each([
    ["rebuild an index from a damaged row", (file: string) => flip(file, "deliveries", "tester")],
    [
      "choose between an index and a row of which either may be damaged",
      (file: string) =>
        changeWithoutIndex(
          file,
          "deliveries_held",
          "update deliveries set lease_until = lease_until + 1 where state = 3",
        ),
    ],
  ])("does not %s [MEM-1]", async (_, damage) => {
    const { file, address } = await filledStore();
    await holdOne(address);
    damage(file);
    expect(isIntact(file)).toBe(false);
    const before = dumpStore(file);
    const { rebuilt, problems } = await repair(address, { dryRun: false });
    expect(rebuilt).toEqual([]);
    expect(problems.length).toBeGreaterThan(0);
    expect(dumpStore(file)).toEqual(before);
  });

  it("refuses a store that does not exist", async () => {
    using folder = temporaryFolder();
    await refused(() => repair(`sqlite:${folder.file("none.db")}`, { dryRun: false }), {
      code: "store_missing",
    });
  });
});

describe("a delivery whose envelope is missing", () => {
  it("fails with store_corrupt when it is accepted, and is reported by verify [MEM-1]", async () => {
    const { file, address } = await filledStore();
    change(file, "update deliveries set envelope = 'env_gone' where pos = 1");
    await using hub = await openHub(address);
    const tester = await hub.agent("tester");
    await refused(() => tester.accept(), { code: "store_corrupt", path: /^dlv_/ });
    expect((await hub.verify()).problems.map(({ field }) => field)).toContain("envelope");
  });
});
