/**
 * References are edges too, also those of stores that were written before they were: an old store is
 * made by the steps that were shipped, filled without them, and opened.
 */
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { expect, it } from "vitest";
import { type Hub, openHub } from "../../src/index.ts";
import { parsePostgresAddress } from "../../src/store/postgres/address.ts";
import { migrate as migratePostgres } from "../../src/store/postgres/migrations.ts";
import { migrate as migrateSqlite } from "../../src/store/sqlite/migrations.ts";
import { testSchema } from "../support/postgres/schema.ts";
import { tablesOf } from "../support/store-dump.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Records that refer: twice to one, to what a relation names, in what looks like a reference. */
async function refer(hub: Hub): Promise<string> {
  const ada = await hub.agent("ada", {});
  const { id } = await ada.remember({ content: "root" });
  const other = await ada.remember({ content: 'no "refs":[ here', data: { refs: [id] } });
  await ada.remember({ content: "twice", refs: [other.id, id, other.id] });
  await ada.remember({
    content: "both",
    refs: [id, other.id],
    relations: [
      { kind: "references", to: id },
      { kind: "supports", to: other.id },
    ],
  });
  await ada.remember({ content: "for a while", refs: [id], relations: [bounded(id)] });
  return id;
}

const bounded = (to: string) => ({ kind: "references" as const, to, from: 1, until: 2 });

/** What an edge is, without who it belongs to. */
async function edgesOf(hub: Hub, id: string): Promise<unknown[]> {
  const ada = await hub.agent("ada");
  return [...(await ada.relations(id, { direction: "in" }))];
}

/** The edges that were not written then: whatever is no relation of the text. */
const DERIVED = `kind = 'references' and valid_from = 0 and n >= `;

it("a SQLite file from before gets them when it is opened, and verifies [MEM-16]", async () => {
  using folder = temporaryFolder();
  const [newest, old] = [folder.file("newest.db"), folder.file("old.db")];
  const made = await openHub(`sqlite:${newest}`);
  const id = await refer(made);
  const expected = await edgesOf(made, id);
  await made.close();
  const db = new DatabaseSync(old);
  migrateSqlite(db, old, { now: 1, to: 3 });
  db.prepare("attach ? as newer").run(newest);
  for (const table of tablesOf(db).filter((name) => name !== "migrations")) {
    const columns = db.prepare(`pragma table_info("${table}")`).all();
    const names = columns.map((column) => `"${column["name"]}"`).join(", ");
    db.exec(`insert into main."${table}" (${names}) select ${names} from newer."${table}"`);
  }
  const said = `(select json_array_length(coalesce(m.text ->> '$.relations', '[]')) from memories m
    where m.pos = relations.source)`;
  const { changes } = db.prepare(`delete from relations where ${DERIVED} ${said}`).run();
  db.close();
  expect(Number(changes)).toBe(4);
  await using upgraded = await openHub(`sqlite:${old}`);
  expect((await upgraded.verify()).problems).toEqual([]);
  expect(await edgesOf(upgraded, id)).toEqual(expected);
});

it("a PostgreSQL store from before gets them when it is opened, and verifies [MEM-16]", async () => {
  await using newest = testSchema();
  await using old = testSchema();
  const made = await openHub(newest.address);
  const id = await refer(made);
  const expected = await edgesOf(made, id);
  await made.close();
  const address = parsePostgresAddress(old.address);
  const client = new pg.Client(address.url);
  await client.connect();
  await migratePostgres(client, address, { create: true, to: 2 });
  for (const table of ["workspaces", "agents", "agent_names", "chains", "memories", "relations"]) {
    const from = `${newest.schema}.${table}`;
    const overriding = table === "workspaces" ? "overriding system value" : "";
    const where = table === "workspaces" ? "" : "where workspace <> 0";
    await client.query(
      `insert into ${old.schema}.${table} ${overriding} select * from ${from} ${where}`,
    );
  }
  const said = `(select json_array_length(coalesce(m.text::json -> 'relations', '[]'))
    from ${old.schema}.memories m where m.workspace = r.workspace and m.pos = r.source)`;
  const { rowCount } = await client.query(
    `delete from ${old.schema}.relations r where r.workspace <> 0 and ${DERIVED} ${said}`,
  );
  await client.end();
  expect(rowCount).toBe(4);
  await using upgraded = await openHub(old.address);
  expect((await upgraded.verify()).problems).toEqual([]);
  expect(await edgesOf(upgraded, id)).toEqual(expected);
});
