/**
 * SQL queries that attempt more than reading the views: each is refused, however it is written, and
 * the store does not change. An engine may also fail to parse a query that it does not support; it
 * must never answer it.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Hub, type HubOptions, isBatonError, openHub } from "../../src/index.ts";
import { seededRandom } from "../../src/testing/seeded-ids.ts";
import { testSchema } from "../support/postgres/schema.ts";
import { chosenSeed } from "../support/random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Attacks on every store. */
const WRITES = [
  "insert into memories (id) values ('x')",
  "update memories set content = 'x'",
  "delete from memories",
  "drop table memories",
  "drop view memories",
  "create table t (a int)",
  "create temp table t (a int)",
  "create view v as select 1",
  "create temp view v as select 1",
  "create index i on memories (id)",
  "alter table memories add column x int",
  "truncate memories",
  "with gone as (delete from memories returning *) select * from gone",
  "with new as (insert into memories (id) values ('x') returning id) select * from new",
  "with changed as (update deliveries set state = 'x' returning id) select * from changed",
  "begin",
  "commit",
  "rollback",
  "savepoint s",
  "vacuum",
  "analyze",
  "reindex",
  "explain select 1",
  "explain analyze delete from memories",
  "explain analyze select * from memories",
  "select 1; select 2",
  "select 1; delete from memories",
  "select 1;; delete from memories",
  "; delete from memories",
  "select 1; -- \n delete from memories",
  "select 1; /* x */ delete from memories /* y */",
  "",
  " ",
  ";",
  "-- nothing",
  "/* nothing */",
];

const FOREIGN = [
  "select * from workspaces",
  "select name from workspaces",
  "select * from chains",
  "select count(*) from chains",
  "select 1 from chains",
  "select exists (select 1 from entries)",
  "select * from envelopes",
  "select * from agent_names",
  "select * from entries",
  "select * from migrations",
  "select * from models",
  "select vector from vectors",
  "select count(*) from models",
  "with chains as (select * from chains) select * from chains",
  "with memories as (select * from workspaces) select * from memories",
  "with handoffs as (select * from envelopes) select id from handoffs",
  "select (select name from workspaces limit 1)",
  "select id from memories where id in (select name from workspaces)",
  "select id from memories union all select name from workspaces",
  "select id from memories order by (select name from workspaces limit 1)",
  "select id from memories limit (select count(*) from workspaces)",
  "select m.id from memories m join workspaces w on true",
  'select * from "workspaces"',
  'select * from"workspaces"',
  "select*from/**/workspaces",
  "select text from memories",
  "select workspace from memories",
  "select pos from memories",
  "select fence from deliveries",
  "select process from deliveries",
];

const SQLITE = [
  "select * from main.memories",
  "select * from main.deliveries",
  "select count(*) from main.memories",
  'select * from "main"."memories"',
  "select * from [main].[memories]",
  "select * from `main`.`memories`",
  "select * from MAIN.Memories",
  "select count(*) from MAIN.Memories",
  "select * from main . memories",
  "select * from main/**/./**/memories",
  "select * from temp.sqlite_schema",
  "with memories as (select * from main.memories) select * from memories",
  "with baton_base_memories as (select * from main.memories) select * from baton_base_memories",
  "select * from (select * from main.memories) as baton_base_memories",
  'with "BATON_BASE_MEMORIES" as (select * from main.memories) select * from "baton_base_memories"',
  "select * from baton_base_memories",
  "select * from temp.baton_base_memories",
  "select * from sqlite_master",
  "select * from sqlite_schema",
  "select sql from sqlite_temp_master",
  "select sql from sqlite_temp_schema",
  "select count(*) from sqlite_master",
  "select 1 where exists (select 1 from sqlite_schema)",
  "select * from sqlite_sequence",
  "select * from sqlite_stat1",
  "select * from pragma_table_info('memories')",
  "select * from pragma_database_list",
  "select count(*) from pragma_database_list",
  "select file from pragma_database_list()",
  "select * from pragma_module_list",
  "select * from pragma_function_list",
  "select * from dbstat",
  "select * from bytecode('select 1')",
  "select * from tables_used('select 1')",
  "select * from sqlite_stmt",
  "select * from fts5vocab",
  "select * from generate_series(1, 1000000000000)",
  "select * from sqlite_dbpage",
  "pragma user_version",
  "pragma query_only = off",
  "pragma writable_schema = on",
  "pragma table_info(memories)",
  "PrAgMa hard_heap_limit = 0",
  "/**/pragma/**/user_version",
  "attach database ':memory:' as x",
  "attach '/etc/passwd' as x",
  "detach main",
  "select load_extension('x')",
  "select LOAD_EXTENSION ('x', 'y')",
  "select \"load_extension\"('x')",
  "select readfile('/etc/passwd')",
  "select writefile('/tmp/x', 'x')",
  "select edit('x')",
  "select randomblob(1000000000)",
  "select zeroblob(1000000000)",
  "select hex(zeroblob(1000000000))",
  "select fts3_tokenizer('x')",
  "select sqlite_version()",
  "select sqlite_compileoption_get(1)",
  "select sqlite_source_id()",
  "select sqlite_offset(1)",
  "select last_insert_rowid(), changes(), total_changes()",
  "select random()",
  "replace into memories (id) values ('x')",
  "explain query plan select * from memories",
  "/* */ explain query plan select * from memories",
  "create trigger t after insert on main.memories begin select 1; end",
  "create virtual table v using fts5(a)",
  "vacuum into '/tmp/baton-copy.db'",
  "select * from memories where rowid in (select rowid from main.memories)",
  "select :workspace",
  "select @workspace",
];

const POSTGRES = [
  "select * from pg_class",
  "select * from pg_shadow",
  "select * from pg_catalog.pg_class",
  "select * from pg_stat_activity",
  "select * from pg_settings",
  "select * from pg_largeobject",
  "select * from information_schema.tables",
  "select * from information_schema.columns",
  "select * from public.memories",
  "select * from SCHEMA.memories",
  "select * from SCHEMA.workspaces",
  'select * from "SCHEMA"."memories"',
  "select * from SCHEMA . memories",
  "select * from only memories, SCHEMA.chains",
  'select * from U&"\\0070g_class"',
  "select * from U&\"pg!005fclass\" UESCAPE '!'",
  'select * from "pg_class"',
  "select * from PG_CLASS",
  "table pg_class",
  "table SCHEMA.memories",
  "with pg_class as (select 1) select * from pg_class",
  "select * from (with pg_shadow as (select 1) select * from pg_shadow) q, pg_shadow",
  "with memories as (select * from SCHEMA.memories) select * from memories",
  "select pg_sleep(10)",
  "select pg_catalog.pg_sleep(10)",
  'select "pg_sleep"(10)',
  "select PG_SLEEP(10)",
  'select U&"\\0070g_sleep"(10)',
  "select (10).pg_sleep",
  "select (10::float8).pg_sleep",
  "select m.pg_sleep from memories m",
  "select (m).pg_sleep from memories m",
  "select (m.*).row_to_json from memories m",
  "select pg_read_file('/etc/passwd')",
  "select pg_ls_dir('/')",
  "select pg_read_binary_file('x')",
  "select lo_import('/etc/passwd')",
  "select lo_export(1, '/tmp/x')",
  "select lo_create(0)",
  "select lo_get(1)",
  "select set_config('search_path', 'public', false)",
  "select current_setting('data_directory')",
  "select pg_catalog.current_setting('is_superuser')",
  "select nextval('x')",
  "select setval('x', 1)",
  "select pg_notify('x', 'y')",
  "select pg_advisory_lock(1)",
  "select pg_try_advisory_xact_lock(1)",
  "select pg_terminate_backend(1)",
  "select pg_cancel_backend(1)",
  "select pg_reload_conf()",
  "select pg_switch_wal()",
  "select pg_export_snapshot()",
  "select txid_current()",
  "select dblink('dbname=x', 'select 1')",
  "select query_to_xml('select * from pg_class', true, true, '')",
  "select table_to_xml('pg_class', true, true, '')",
  "select database_to_xml(true, true, '')",
  "select cursor_to_xml('c', 1, true, true, '')",
  "select * from json_populate_recordset(null::pg_class, '[]')",
  "select ts_stat('select 1')",
  "select to_tsvector('x')",
  "select version()",
  "select current_user",
  "select session_user",
  "select user",
  "select current_catalog",
  "select current_schema",
  "select current_role",
  "select inet_server_addr()",
  "select pg_backend_pid()",
  "select pg_database_size('x')",
  "select has_table_privilege('x', 'select')",
  "select 'pg_class'::regclass",
  "select 1::oid::regclass",
  "select 'x'::pg_catalog.regproc",
  "select 'x'::SCHEMA.memories",
  "select 'a'::char(10000000)",
  "select b'1'::bit(80000000)",
  "select '1'::xml",
  "select null::memories",
  "select * from memories for update",
  "select * from memories for share nowait",
  "select * from memories for no key update skip locked",
  "select * into x from memories",
  "select 1 into temp x",
  "create table x as select 1",
  "copy memories to '/tmp/x'",
  "copy (select 1) to program 'id'",
  "do $$ begin perform 1; end $$",
  "do 'begin end'",
  "call x()",
  "execute x",
  "prepare x as select 1",
  "deallocate all",
  "declare c cursor for select 1",
  "fetch all from c",
  "listen x",
  "notify x",
  "set search_path = public",
  "set role postgres",
  "set local statement_timeout = 0",
  "reset all",
  "discard all",
  "show all",
  "lock table memories",
  "grant all on memories to public",
  "comment on table memories is 'x'",
  "security label on table memories is 'x'",
  "refresh materialized view x",
  "cluster",
  "checkpoint",
  "load 'x'",
  "import foreign schema x from server y into z",
  "merge into memories m using handoffs h on true when matched then delete",
  "select repeat('x', 1000000000)",
  "select lpad('x', 1000000000)",
  "select rpad('x', 1000000000)",
  "select format('%1000000000s', 'x')",
  "select * from generate_series(1, 1000000000000)",
  "select generate_series(1, 1000000000000)",
  "select array_fill(1, array[1000000000])",
  "select string_agg(a.id, b.id) over () from memories a, memories b",
  "select replace('xx', 'x', 'yyyy')",
  "select regexp_replace('a', 'b', 'c')",
  "select 'a' ~ '(a{1,250}){1,250}'",
  "select 'a' similar to '(a|b)*'",
  "select 10 ^ 100000",
  "select 1 operator(pg_catalog.+) 2",
  "with recursive t(s) as (select 'x' union all select s || s from t) select count(*) from t",
  "with recursive t(a) as (select array[1] union all select a || a from t) select count(*) from t",
  `select ${"a.content || ".repeat(10)} a.content from memories a`,
  `select * from (select x || x as x from (select x || x as x from (select x || x as x from (select x || x as x from
   (select x || x as x from (select x || x as x from (select x || x as x from (select x || x as x from
   (select content || content as x from memories) a) b) c) d) e) f) g) h) i`,
  "select array[a, a, a, a, a, a, a, a] from (select array[x, x, x, x, x, x, x, x] as a from (select array[id, id, id, id, id, id, id, id] as x from memories) q) r",
  "select q, q from (select q, q as q2 from (select q, q as q2 from (select 1 as a) q) q) q",
  "select z as a, z as b from (select z as a, z as b from (select z as a, z as b from (select 1 as q) z) z) z, (select 2 as z) y",
  "select content as a, content as b from (select content as a, content as b from (select 1 as q) content) content",
  "select string_agg(id, ''), string_agg(id, ''), array_agg(id) from memories",
  "select json_table('[]', '$[*]' columns (a int path '$'))",
  "select * from json_table('[]', '$[*]' columns (a int path '$')) t",
  "select xmlelement(name x)",
  "select * from memories tablesample system (1)",
  "select * from rows from (unnest(array[1]), unnest(array[2])) q",
  'select 1 collate "C"',
  "select * from memories order by id using operator(pg_catalog.<)",
  "select count(variadic array[1])",
  "select concat(variadic array['a'])",
  "select make_interval(days => 1)",
  "select $0",
  // `alias.name` calls the function `name` if the alias has no such column.
  "select f.ts_stat from unnest(array['select 1']) as f, (select 1 as ts_stat) z",
  "select f.pg_sleep from unnest(array[0]) as f, (values (1)) as z(pg_sleep)",
  "with pg_sleep(pg_sleep) as (select 1) select f.pg_sleep from unnest(array[0]) as f, pg_sleep",
  "select f.lower from unnest(array['A']) as f",
  "select f.id from unnest(array['A']) as f",
  "select f.f from unnest(array['A']) as f(x)",
  "select (select f.ts_stat from (select 1 as ts_stat) as f) from unnest(array['select 1']) as f",
  "select * from (select 1 as ts_stat) as f, (select f.ts_stat from unnest(array['x']) as f) g",
  "select j.x, f.pg_sleep from unnest(array[0]) as f, ((select 1 as pg_sleep) as f join (select 2) as b on true) as j(x)",
  "select m.row_to_json from memories m",
  "select unnest.ts_stat from unnest(array['select 1']), (select 1 as ts_stat) z",
];

/** Queries whose intermediate or final result is too large. */
const SQLITE_LARGE = [
  "select printf('%1000000000d', 1)",
  "select format('%.*c', 900000000, 'x')",
  "with recursive t(s) as (select 'x' union all select s || s from t) select count(*) from t",
  "with recursive t(s, n) as (select 'x', 1 union all select s || s, n + 1 from t where n < 40) select max(length(s)) from t",
  "select group_concat(printf('%10000d', 1), b.content) from memories a, memories b, memories c, memories d, memories e, memories f, memories g, memories h, memories i, memories j, memories k",
  "select replace(replace(hex('xxxxxxxxxxxxxxxxxxxx'), '7', printf('%100000d', 1)), ' ', printf('%10000d', 1))",
  "with recursive t(n) as (select 1 union all select n + 1 from t) select n from t order by n % 7, printf('%1000d', n)",
  "with recursive t(n) as (select 1 union all select n + 1 from t) select json_group_array(n) from t",
  "with recursive t(n) as (select 1 union all select n + 1 from t) select n, printf('%1000d', n) from t",
  "with recursive t(n) as (select 1 union select n + 1 from t) select count(*) from t",
];

/** Returns the query in random case, with other whitespace and comments between its words. */
function disguised(query: string, random: () => number): string {
  const commented = query.includes("--"); // A line comment ends at its newline: keep spaces.
  return query.replace(/\s+|[a-z]/gi, (part) => {
    if (commented && /\s/.test(part)) return part;
    if (/\S/.test(part)) return random() < 0.5 ? part.toUpperCase() : part.toLowerCase();
    const spaces = [" ", "\n", "\t", "/**/", "/* ; */ ", "--\n", " \r\n", "/*'*/", "\f"];
    return spaces[Math.floor(random() * spaces.length)] as string;
  });
}

const DISGUISES = 2;

interface Target {
  readonly hub: Hub;
  readonly schema: string;
}

async function targetOn(
  store: "sqlite" | "memory" | "postgres",
  options: HubOptions = {},
): Promise<Target & AsyncDisposable> {
  const stack = new AsyncDisposableStack();
  const schema = store === "postgres" ? stack.use(testSchema()) : undefined;
  const folder = stack.use(temporaryFolder());
  const address =
    schema?.address ?? (store === "memory" ? "memory:" : `sqlite:${folder.file("hub.db")}`);
  const hub = stack.use(await openHub(address, options));
  const ada = await hub.agent("ada", {});
  await hub.agent("ben", {});
  await ada.remember({ content: "shared" });
  await ada.remember({ content: "private", scope: "agent" });
  await ada.handoff({ to: "ben", task: "t", intent: "go" });
  const named =
    schema === undefined ? "" : (new URL(schema.address).searchParams.get("schema") ?? "");
  return { hub, schema: named, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/**
 * Long enough for a refusal on a busy machine: a query that is refused before it runs must not time
 * out.
 */
const PATIENT = { limits: { sqlMs: 120_000 } } as const;

/** Returns the code of the refusal, or what was answered. */
async function refusedWith(hub: Hub, query: string, options: object = {}): Promise<string> {
  try {
    const answer = await hub.memories.sql(query, options);
    return `answered ${JSON.stringify(answer.rows).slice(0, 200)}`;
  } catch (error) {
    if (!isBatonError(error)) throw error;
    return error.code;
  }
}

const state = async (hub: Hub): Promise<unknown> => [
  await hub.verify(),
  await hub.deliveries.totals(),
  (await hub.events.list()).items,
];

/** Codes of queries that were refused, or that the engine could not parse or resolve. */
const REFUSED = ["sql_refused", "sql_failed", "invalid_input"];

describe.each([
  ["sqlite", [...WRITES, ...FOREIGN, ...SQLITE]],
  ["memory", [...WRITES, ...FOREIGN, ...SQLITE]],
  ["postgres", [...WRITES, ...FOREIGN, ...POSTGRES]],
] as const)("SQL attacks on %s", (store, attacks) => {
  let target: Target & AsyncDisposable;
  let before: unknown;
  beforeAll(async () => {
    target = await targetOn(store, PATIENT);
    before = await state(target.hub);
  });
  afterAll(async () => {
    await target[Symbol.asyncDispose]();
  });

  const written = (attack: string): string => attack.replaceAll("SCHEMA", target.schema);

  it("are refused as written [MEM-14]", async () => {
    const outcomes: Record<string, string> = {};
    for (const attack of attacks) outcomes[attack] = await refusedWith(target.hub, written(attack));
    const got = Object.entries(outcomes).filter(([, code]) => !REFUSED.includes(code));
    expect(Object.fromEntries(got)).toEqual({});
    expect(await state(target.hub)).toEqual(before);
  });

  it("are refused in random case, whitespace and comments [MEM-14]", async () => {
    const seed = chosenSeed();
    const random = seededRandom(seed);
    const got: Record<string, string> = {};
    for (const attack of attacks) {
      for (let i = 0; i < DISGUISES; i++) {
        const disguise = disguised(written(attack), random);
        const code = await refusedWith(target.hub, disguise);
        if (!REFUSED.includes(code)) got[disguise] = code;
      }
    }
    expect(got, `BATON_SEED=${seed}`).toEqual({});
    expect(await state(target.hub)).toEqual(before);
  });

  it("leave the views readable [MEM-14]", async () => {
    const { rows } = await target.hub.memories.sql(
      "select content from memories where type = 'fact'",
    );
    expect(rows).toEqual([{ content: "shared" }]);
  });
});

/** Queries that must be refused before they run, not by an error while they run. */
describe.each([
  [
    "sqlite",
    [
      "select * from main.memories",
      "select count(*) from chains",
      "pragma user_version",
      "delete from memories",
      "select load_extension('x')",
      "select zeroblob(1)",
      "explain select 1",
    ],
  ],
  [
    "postgres",
    [
      "select pg_sleep(1)",
      "select (1).pg_sleep",
      "select * from pg_class",
      "select set_config('a', 'b', true)",
      "select * from memories for update",
      "delete from memories",
      "select current_user",
      "select 1; select 2",
      "explain select 1",
    ],
  ],
] as const)("SQL refusals on %s", (store, attacks) => {
  it("say what is wrong and what to do [MEM-14]", async () => {
    await using target = await targetOn(store);
    for (const attack of attacks) {
      const error = await target.hub.memories.sql(attack).catch((failure: unknown) => failure);
      expect(error, attack).toMatchObject({
        code: "sql_refused",
        path: "query",
        message: expect.stringMatching(/^The query was refused: it /),
        hint: expect.stringMatching(/./),
      });
    }
  });
});

describe.each(["sqlite", "memory"] as const)("queries that exhaust resources on %s", (store) => {
  it("are ended, and the next query is answered [MEM-14]", async () => {
    await using target = await targetOn(store);
    const ENDED = ["limit_exceeded", "sql_timeout"];
    const got: Record<string, string> = {};
    for (const attack of SQLITE_LARGE) {
      const code = await refusedWith(target.hub, attack, { timeoutMs: 2_000 });
      if (!ENDED.includes(code)) got[attack] = code;
    }
    expect(got).toEqual({});
    expect((await target.hub.memories.sql("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });
});

describe("the memory limit of SQL on sqlite", () => {
  it("ends a query that needs too much memory [MEM-14]", async () => {
    await using target = await targetOn("sqlite", { limits: { sqlMs: 60_000 } });
    const sorted = `with recursive t(n) as (select 1 union all select n + 1 from t where n < 800000)
      select n from t order by printf('%1000d', n % 7), n limit 1 offset 799999`;
    const error = await target.hub.memories.sql(sorted).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: "limit_exceeded", details: { limit: "memory" } });
    expect((await target.hub.memories.sql("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });
});

describe("arguments of memories.sql", () => {
  it.each([
    ["a query that is not a string", [1, {}]],
    ["a NUL character", ["select 1\0", {}]],
    ["a query over the length limit", [`select '${"x".repeat(70_000)}'`, {}]],
    ["an unknown option", ["select 1", { workspace: "other" }]],
    ["a limit of zero", ["select 1", { limit: 0 }]],
    ["a negative timeout", ["select 1", { timeoutMs: -1 }]],
    ["a parameter that is an object", ["select ?", { params: [{ a: 1 }] }]],
    ["an empty vector", ["select ?", { params: [[]] }]],
    ["an embedder that is not a function", ["select 1", { embed: "x" }]],
  ])("are refused: %s [MEM-14]", async (_case, [query, options]) => {
    await using target = await targetOn("memory");
    const error = await target.hub.memories
      .sql(query as string, options as object)
      .catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: "invalid_input" });
  });
});
