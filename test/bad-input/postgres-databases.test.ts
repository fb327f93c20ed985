/**
 * PostgreSQL databases that are unsuitable or deny access: each is refused with a code that says
 * what to do, no error contains the password, and existing data does not change.
 */
import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openHub } from "../../src/index.ts";
import { postgresUrl, type TestSchema, testSchema } from "../support/postgres/schema.ts";
import { type ExpectedRefusal, refused } from "../support/refusal.ts";

const SECRET = "s3cr3t-word";

/** A working store that the tests share. */
let schema: TestSchema;

beforeAll(async () => {
  schema = testSchema();
  await using hub = await openHub(schema.address);
  await (await hub.agent("ann", { role: "writer" })).remember({ content: "kept" });
});

afterAll(() => schema[Symbol.asyncDispose]());

async function refusedQuietly(act: () => unknown, expected: ExpectedRefusal) {
  const error = await refused(act, { path: /^postgres \S+:\d+\/\S+ \(\w+\)$/, ...expected });
  const everything = JSON.stringify(error) + inspect(error, { depth: 9, showHidden: true });
  expect(everything + error.stack).not.toContain(SECRET);
  return error;
}

interface Visitor {
  readonly user: string;
  /** Returns the store's address for this user. */
  address(name?: string): string;
}

/** Creates a user without privileges of its own; it is dropped when the test ends. */
async function visitor(): Promise<Visitor> {
  const user = `visitor_${randomUUID().replaceAll("-", "")}`;
  await schema.query(`create role ${user} login password '${SECRET}'`);
  onTestFinished(async () => {
    await schema.query(`drop owned by ${user} cascade; drop role ${user}`);
  });
  return { user, address: (name = schema.schema) => addressOf({ user, schema: name }) };
}

function addressOf(parts: { user?: string; database?: string; schema?: string }): string {
  const url = new URL(postgresUrl());
  if (parts.user !== undefined) {
    url.username = parts.user;
    url.password = SECRET;
  }
  if (parts.database !== undefined) url.pathname = `/${parts.database}`;
  url.searchParams.set("schema", parts.schema ?? schema.schema);
  return url.href;
}

/** Returns the tables and views of a schema with their rows. */
async function contentsOf(name: string): Promise<unknown> {
  return await schema.query(
    `select relname, relkind, query_to_xml(format('select * from %I.%I', $1::text, relname), true, true, '')::text
     from pg_class where relnamespace = to_regnamespace($1) and relkind in ('r', 'v') order by 1`,
    [name],
  );
}

async function expectUnchanged(name: string, act: () => Promise<unknown>): Promise<void> {
  const before = await contentsOf(name);
  await act();
  expect(await contentsOf(name)).toEqual(before);
}

describe("connecting to PostgreSQL", () => {
  it("fails with store_denied when the password is wrong", async () => {
    const { address } = await visitor();
    const wrong = address().replace(SECRET, `${SECRET}-but-wrong`);
    await refusedQuietly(() => openHub(wrong), { code: "store_denied", hint: /password/ });
  });

  it("fails with store_denied without a password", async () => {
    const { address } = await visitor();
    const without = address().replace(`:${SECRET}`, "");
    await refusedQuietly(() => openHub(without), { code: "store_denied", hint: /password/ });
  });

  it("fails with store_denied when the user does not exist", async () => {
    const address = addressOf({ user: "nobody_of_that_name" });
    await refusedQuietly(() => openHub(address), { code: "store_denied" });
  });

  it("fails with store_missing when the database does not exist", async () => {
    const address = addressOf({ database: "no_such_database" });
    const expected = { code: "store_missing", hint: /createdb/ } as const;
    await refusedQuietly(() => openHub(address), expected);
  });
});

describe("a PostgreSQL user with limited privileges", () => {
  it("gets store_denied when it cannot create the schema, and none is created", async () => {
    const { address } = await visitor();
    const name = `t_${randomUUID().replaceAll("-", "")}`;
    await refusedQuietly(() => openHub(address(name)), { code: "store_denied", hint: /schema/ });
    expect(await schema.query("select to_regnamespace($1) as found", [name])).toEqual([
      { found: null },
    ]);
  });

  it("can use a schema that was created for it", async () => {
    const { user, address } = await visitor();
    const name = `t_${randomUUID().replaceAll("-", "")}`;
    await schema.query(`create schema ${name} authorization ${user}`);
    await using hub = await openHub(address(name));
    const agent = await hub.agent("ann", { role: "writer" });
    expect((await agent.remember({ content: "x" })).seq).toBe(1);
  });

  it("gets store_denied without privileges on the store, and nothing changes", async () => {
    const { address } = await visitor();
    await expectUnchanged(schema.schema, () =>
      refusedQuietly(() => openHub(address()), { code: "store_denied" }),
    );
  });

  it("can read with select privileges only, and gets store_denied for each write", async () => {
    const { user, address } = await visitor();
    await schema.query(
      `grant usage on schema ${schema.schema} to ${user};
       grant select on all tables in schema ${schema.schema} to ${user}`,
    );
    await using hub = await openHub(address());
    const agent = await hub.agent("ann");
    expect((await agent.memories.recent()).items).toHaveLength(1);
    await expectUnchanged(schema.schema, async () => {
      await refusedQuietly(() => agent.remember({ content: "x" }), { code: "store_denied" });
      await refusedQuietly(() => hub.agent("ben", { role: "x" }), { code: "store_denied" });
    });
    expect((await hub.verify()).problems).toEqual([]);
  });
});

describe("a schema that Baton cannot use", () => {
  it.for([
    ["another program's table", "create table songs (title text); insert into songs values ('x')"],
    ["another program's view", "create view songs as select 1 as title"],
    ["a table named like one of ours", "create table memories (id text)"],
  ])("is refused as store_foreign and not changed: %s", async ([, sql]) => {
    const name = `t_${randomUUID().replaceAll("-", "")}`;
    await schema.query(`create schema ${name}`);
    onTestFinished(async () => {
      await schema.query(`drop schema ${name} cascade`);
    });
    await inSchema(name, sql as string);
    await expectUnchanged(name, () =>
      refusedQuietly(() => openHub(addressOf({ schema: name })), {
        code: "store_foreign",
        hint: /schema/,
      }),
    );
  });

  it("is refused as store_too_new and not changed when a newer Baton wrote it", async () => {
    await using newer = testSchema();
    await (await openHub(newer.address)).close();
    await inSchema(newer.schema, "insert into baton_migrations values (99, 'future', now())");
    await expectUnchanged(newer.schema, async () => {
      const expected = { code: "store_too_new", hint: /npm install/ } as const;
      const error = await refusedQuietly(() => openHub(newer.address), expected);
      expect(error.details).toMatchObject({ found: 99 });
    });
  });

  it.for([1, 6])(
    "is refused as store_too_old with a hint and not changed: development version of %i schema steps",
    async (version) => {
      await using older = testSchema();
      await (await openHub(older.address)).close();
      await inSchema(
        older.schema,
        `update baton_migrations set name = 'memories, envelopes, deliveries, events';
         insert into baton_migrations select n, 'later', now() from generate_series(2, ${version}) n`,
      );
      await expectUnchanged(older.schema, async () => {
        const expected = { code: "store_too_old", hint: /baton export.*baton import/ } as const;
        const error = await refusedQuietly(() => openHub(older.address), expected);
        expect(error.details).toMatchObject({ version: 1, expected: "initial schema" });
      });
    },
  );
});

describe("an unsuitable database", () => {
  it("is refused as store_unsupported when it has no encoding, and nothing is created", async () => {
    const database = `ascii_${randomUUID().replaceAll("-", "")}`;
    await schema.query(
      `create database ${database} encoding 'SQL_ASCII' locale 'C' template template0`,
    );
    onTestFinished(async () => {
      await schema.query(`drop database ${database} with (force)`);
    });
    const address = addressOf({ database, schema: "baton" });
    const expected = { code: "store_unsupported", hint: /UTF8/ } as const;
    await refusedQuietly(() => openHub(address), expected);
    const client = new pg.Client(address);
    await client.connect();
    const { rows } = await client.query("select to_regnamespace('baton') as found");
    await client.end();
    expect(rows).toEqual([{ found: null }]);
  });

  it.for([
    { name: "an existing store", fresh: false },
    { name: "a new store", fresh: true },
  ])("is reported as store_read_only when it is read-only: $name", async ({ fresh }) => {
    const { user, address } = await visitor();
    await schema.query(
      `grant all on schema ${schema.schema} to ${user};
       grant all on all tables in schema ${schema.schema} to ${user};
       alter role ${user} set default_transaction_read_only = on`,
    );
    if (fresh) {
      const name = `t_${randomUUID().replaceAll("-", "")}`;
      await schema.query(`create schema ${name} authorization ${user}`);
      await refusedQuietly(() => openHub(address(name)), { code: "store_read_only" });
      return;
    }
    await using hub = await openHub(address());
    const agent = await hub.agent("ann");
    expect((await agent.memories.recent()).items).toHaveLength(1);
    await expectUnchanged(schema.schema, async () => {
      const expected = { code: "store_read_only", hint: /primary/ } as const;
      await refusedQuietly(() => agent.remember({ content: "x" }), expected);
      await refusedQuietly(() => hub.agent("ben", { role: "x" }), expected);
    });
  });
});

describe("texts with characters that are special in SQL", () => {
  it("are returned unchanged [MEM-1]", async () => {
    await using hub = await openHub(schema.address, { workspace: "texts" });
    const agent = await hub.agent("ann", { role: "writer" });
    const texts = [
      '"',
      "\\",
      "{}",
      "(,)",
      "NULL",
      "'",
      "$1",
      '\\"',
      "\\\\",
      "a\nb\tc",
      "–ü€𝄞",
      " x ",
    ];
    for (const text of texts) {
      const { id } = await agent.remember({ content: text, tags: ["x"], type: "note" });
      expect((await agent.memories.read(id)).content).toBe(text);
      await agent.handoff({ to: "ann", task: `t${texts.indexOf(text)}`, intent: text });
      const work = await agent.accept();
      expect(work?.envelope.intent).toBe(text);
      await work?.fail({ message: text, class: "permanent" });
      const [attempt] = await hub.deliveries.attempts(work?.id ?? "");
      expect(attempt?.reason).toMatchObject({ message: text });
    }
    expect((await hub.verify()).problems).toEqual([]);
  });
});

async function inSchema(name: string, sql: string): Promise<void> {
  const client = new pg.Client(postgresUrl());
  await client.connect();
  try {
    await client.query(`set search_path = ${name}; ${sql}`);
  } finally {
    await client.end();
  }
}
