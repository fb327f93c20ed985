/**
 * Databases that are not what they should be, or do not let us: each is refused with a code that
 * says what to do, no password is shown, and what is there stays as it was.
 */
import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openHub } from "../../src/index.ts";
import { postgresUrl, type TestSchema, testSchema } from "../support/postgres/schema.ts";
import { type ExpectedRefusal, refused } from "../support/refusal.ts";

const SECRET = "s3cr3t-word";

/** A store that is there, and works. */
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
  /** The store's address for this user. */
  address(name?: string): string;
}

/** A user without any rights of its own, gone with the test. */
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

/** Everything that can be seen of a schema: what is in it, and in its tables. */
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

describe("who is let in", () => {
  it("not with a wrong password: store_denied", async () => {
    const { address } = await visitor();
    const wrong = address().replace(SECRET, `${SECRET}-but-wrong`);
    await refusedQuietly(() => openHub(wrong), { code: "store_denied", hint: /password/ });
  });

  it("not without a password: store_denied", async () => {
    const { address } = await visitor();
    const without = address().replace(`:${SECRET}`, "");
    await refusedQuietly(() => openHub(without), { code: "store_denied", hint: /password/ });
  });

  it("not somebody who does not exist: store_denied", async () => {
    const address = addressOf({ user: "nobody_of_that_name" });
    await refusedQuietly(() => openHub(address), { code: "store_denied" });
  });

  it("not to a database that does not exist: store_missing", async () => {
    const address = addressOf({ database: "no_such_database" });
    const expected = { code: "store_missing", hint: /createdb/ } as const;
    await refusedQuietly(() => openHub(address), expected);
  });
});

describe("a user without rights", () => {
  it("to create the schema: store_denied, and there is none", async () => {
    const { address } = await visitor();
    const name = `t_${randomUUID().replaceAll("-", "")}`;
    await refusedQuietly(() => openHub(address(name)), { code: "store_denied", hint: /schema/ });
    expect(await schema.query("select to_regnamespace($1) as found", [name])).toEqual([
      { found: null },
    ]);
  });

  it("to create schemas at all can use one that was made for it", async () => {
    const { user, address } = await visitor();
    const name = `t_${randomUUID().replaceAll("-", "")}`;
    await schema.query(`create schema ${name} authorization ${user}`);
    await using hub = await openHub(address(name));
    const agent = await hub.agent("ann", { role: "writer" });
    expect((await agent.remember({ content: "x" })).seq).toBe(1);
  });

  it("on the store: store_denied, and nothing changes", async () => {
    const { address } = await visitor();
    await expectUnchanged(schema.schema, () =>
      refusedQuietly(() => openHub(address()), { code: "store_denied" }),
    );
  });

  it("to write to the tables: reads, and each write is store_denied", async () => {
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

describe("a schema that is not ours", () => {
  it.for([
    ["with somebody's table", "create table songs (title text); insert into songs values ('x')"],
    ["with somebody's view", "create view songs as select 1 as title"],
    ["with tables called like ours", "create table memories (id text)"],
  ])("%s: store_foreign, unchanged", async ([, sql]) => {
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

  it("but of a newer Baton: store_too_new, naming both versions, unchanged", async () => {
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
    "but of a development version with %i schema steps: store_too_old, saying what to do, unchanged",
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

describe("a database", () => {
  it("that knows no encoding: store_unsupported, and nothing is created", async () => {
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
    { name: "that is there", fresh: false },
    { name: "that is new", fresh: true },
  ])("$name and may only be read: store_read_only", async ({ fresh }) => {
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

describe("texts that the database could take for something else", () => {
  it("come back as they were [MEM-1]", async () => {
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
