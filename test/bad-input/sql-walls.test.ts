/**
 * The walls between a query and the rest of a PostgreSQL database, each without the others: the guard, which
 * reads the text; the check of what PostgreSQL made of it; and the role it runs as. The attacks are generated:
 * every function of the server, in every form in which a query can call one.
 */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openHub } from "../../src/index.ts";
import { parsePostgresAddress } from "../../src/store/postgres/address.ts";
import { prepareQuery } from "../../src/store/postgres/sql/prepare-query.ts";
import { FUNCTIONS, TYPES } from "../../src/store/postgres/sql/sql-grammar.ts";
import { SqlReader, type SqlReaderOptions } from "../../src/store/postgres/sql/sql-reader.ts";
import type { QueryOutcome } from "../../src/store/sql-query.ts";
import { postgresUrl, type TestSchema, testSchema } from "../support/postgres/schema.ts";
import { chosenSeed, randomFrom } from "../support/random.ts";
import { runs } from "../support/runs.ts";
import { CALL_FORMS, randomQuery } from "../support/sql/attack-forms.ts";
import { noGuard, PATIENT_MS, runOf } from "../support/sql/run-query.ts";

/** A word of the other workspace, and of a private record of this one: no answer contains it. */
const CANARY = "zqxcanary";
/** Time for an attack: one that runs longer was not answered either. */
const SHORT_MS = 5_000;
const FORGED_LOCK = 4_711_471_147;

interface Target extends AsyncDisposable {
  readonly schema: TestSchema;
  /** A connection of the hub's user that nothing may end. */
  readonly victim: pg.Client & { processID: number };
  readonly tokenDigest: string;
  reader(options: SqlReaderOptions): SqlReader;
}

async function openTarget(): Promise<Target> {
  const stack = new AsyncDisposableStack();
  const schema = stack.use(testSchema());
  for (const workspace of ["here", "there"]) {
    await using hub = await openHub(schema.address, { workspace });
    const ada = await hub.agent("ada", {});
    await ada.remember({ content: `${CANARY} private`, scope: "agent" });
    if (workspace === "there") await ada.remember({ content: `${CANARY} there` });
    else await ada.remember({ content: "shared" });
    await hub.tokens.add({ agent: "ada", access: "agent", label: CANARY });
  }
  await plantTraps(schema);
  const [entry] = await schema.query(
    `select value from ${schema.schema}.entries where kind like '%token%' limit 1`,
  );
  const victim = new pg.Client(postgresUrl()) as Target["victim"];
  await victim.connect();
  stack.defer(() => victim.end());
  const address = parsePostgresAddress(schema.address);
  return {
    schema,
    victim,
    tokenDigest: /[0-9a-f]{64}/.exec(String(entry?.["value"]))?.[0] ?? "",
    reader(options) {
      const reader = new SqlReader(address, PATIENT_MS, options);
      stack.defer(() => reader.close());
      return reader;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** What an installation may have besides: functions with their owner's rights, domains, operators, casts. */
const plantTraps = ({ schema, query }: TestSchema) =>
  query(`
    grant usage on schema ${schema} to public;
    create function ${schema}.leak(text) returns text language sql security definer
      as 'select string_agg(text, '','') from ${schema}.memories';
    create function ${schema}.is_leak(text) returns boolean language sql as 'select ${schema}.leak($1) is null';
    create domain ${schema}.trap as text check (${schema}.is_leak(value));
    create operator ${schema}.<> (leftarg = text, rightarg = text, function = texteq);
    create operator ${schema}.!! (rightarg = text, function = ${schema}.leak);
    create type ${schema}.pair as (a text, b text);
    create sequence ${schema}.counter`);

const unquoted = (name: string): string => name.replaceAll('"', "");

describe("walls around SQL on postgres", () => {
  let target: Target;
  let functions: readonly string[];
  beforeAll(async () => {
    target = await openTarget();
    const rows = await target.schema.query(
      `select distinct quote_ident(proname) as name from pg_proc
       where pronamespace = 'pg_catalog'::regnamespace order by 1`,
    );
    functions = rows.map(({ name }) => String(name));
  });
  afterAll(async () => {
    await target[Symbol.asyncDispose]();
  });

  /** Calls that do harm, as SQL; `$1`-free, so that they fit any form. */
  const harmful = (): readonly [string, string][] => {
    const { schema } = target.schema;
    const everything = `select to_tsvector(text) from ${schema}.memories`;
    const query = (text: string): string => `'${text}'::text`;
    return [
      ["ts_stat", query(everything)],
      ["query_to_xml", `'select * from ${schema}.entries', true, true, ''`],
      ["table_to_xml", `'${schema}.memories', true, true, ''`],
      ["schema_to_xml", `'${schema}', true, true, ''`],
      ["query_to_xml", `'select set_config(''role'', ''none'', false)', true, true, ''`],
      ["pg_terminate_backend", `${target.victim.processID}`],
      ["pg_cancel_backend", `${target.victim.processID}`],
      ["pg_advisory_lock", `${FORGED_LOCK}`],
      ["pg_advisory_xact_lock", `${FORGED_LOCK}`],
      ["pg_try_advisory_lock", `${FORGED_LOCK}`],
      ["set_config", "'role', 'none', false"],
      ["set_config", "'search_path', 'public', false"],
      ["pg_sleep", "3600"],
      ["pg_read_file", query("PG_VERSION")],
      ["pg_read_binary_file", query("PG_VERSION")],
      ["pg_ls_dir", query(".")],
      ["pg_stat_file", query("PG_VERSION")],
      ["lo_create", "0"],
      ["lo_from_bytea", "0, 'x'"],
      ["lo_import", query("PG_VERSION")],
      ["lo_export", "1, '/tmp/baton-lo'"],
      ["nextval", `'${schema}.counter'`],
      ["pg_notify", "'baton', 'x'"],
      ["pg_reload_conf", ""],
      ["pg_switch_wal", ""],
      ["pg_export_snapshot", ""],
      ["current_setting", query("data_directory")],
      [`${schema}.leak`, query("x")],
      [`${schema}.trap`, query("x")],
    ];
  };

  /** Texts that read or call without a function's name. */
  const nameless = (): readonly string[] => {
    const { schema } = target.schema;
    return [
      `select * from ${schema}.memories`,
      `select value from ${schema}.entries`,
      `select text from ${schema}.memories for update`,
      `select * from ${schema}.memories tablesample system (100)`,
      "select rolname, rolpassword from pg_authid",
      "select * from pg_stat_activity",
      "select * from pg_settings",
      "select * from information_schema.tables",
      `select operator(${schema}.!!) 'x'::text`,
      `select 'x'::text operator(${schema}.<>) 'x'::text`,
      `select cast('x'::text as ${schema}.trap)`,
      `select ('x'::text)::${schema}.trap[]`,
      `select row('a', 'b')::${schema}.pair`,
      `select (null::${schema}.memories).text`,
      "select * from memories for share",
      "select xmlforest(id) from memories",
      "select * from json_table('[1]', '$[*]' columns (a int path '$')) t",
      "select * from xmltable('/a' passing '<a/>' columns b text)",
      "select 'pg_authid'::regclass",
    ];
  };

  /** What no query may have left behind, whatever it was answered with. */
  async function expectNoEffects(): Promise<void> {
    const { schema, victim } = target;
    await expect(victim.query("select 1")).resolves.toBeDefined();
    const [found] = await schema.query(
      `select (select count(*) from pg_largeobject_metadata)::int as objects,
         (select count(*) from pg_locks where locktype = 'advisory'
           and classid::bigint << 32 | objid::bigint = $1)::int as locks,
         (select is_called from ${schema.schema}.counter) as counted`,
      [FORGED_LOCK],
    );
    expect(found).toEqual({ objects: 0, locks: 0, counted: false });
  }

  const leaks = (outcome: QueryOutcome): boolean => {
    const text = JSON.stringify(outcome);
    return text.includes(CANARY) || text.includes(target.tokenDigest);
  };

  it("the digest of a token and the canary are in the tables [MEM-14]", async () => {
    expect(target.tokenDigest).toMatch(/^[0-9a-f]{64}$/);
    const client = await target.schema.query(`select ${target.schema.schema}.leak('x') as leak`);
    expect(JSON.stringify(client)).toContain(CANARY);
  });

  it("the guard refuses every function in every form, unless it only computes [MEM-14]", async () => {
    const passed: string[] = [];
    const allowed = new Set([...FUNCTIONS, ...TYPES]);
    const calls = functions.map((name) => [name, "'x'::text"] as const);
    for (const [name, argument] of [...calls, ...harmful()]) {
      for (const form of Object.values(CALL_FORMS)) {
        const text = form(name, argument);
        const { kind } = await prepareQuery({ text, params: [] });
        if (kind === "prepared" && !allowed.has(unquoted(name))) passed.push(text);
      }
    }
    for (const text of nameless()) {
      if ((await prepareQuery({ text, params: [] })).kind === "prepared") passed.push(text);
    }
    expect(passed).toEqual([]);
  });

  it("what the guard lets pass is harmless without the other walls [MEM-14]", async () => {
    const reader = target.reader({ checksResolved: false, usesRole: false });
    const leaked: string[] = [];
    for (const [name, argument] of harmful()) {
      for (const form of Object.values(CALL_FORMS)) {
        const text = form(name, argument);
        if (leaks(await reader.query(runOf(text, [], SHORT_MS)))) leaked.push(text);
      }
    }
    expect(leaked).toEqual([]);
    await expectNoEffects();
  });

  it("without the guard, what PostgreSQL resolved is refused unless it only computes [MEM-14]", async () => {
    const seed = chosenSeed();
    const { below } = randomFrom(seed);
    const reader = target.reader({ inspect: noGuard, usesRole: false });
    const casts = await target.schema.query(
      "select distinct proname from pg_cast join pg_proc p on p.oid = castfunc",
    );
    const allowed = new Set([...FUNCTIONS, ...TYPES, ...casts.map(({ proname }) => proname)]);
    const forms = Object.values(CALL_FORMS);
    const attacks = Array.from({ length: runs(300) }, () => {
      const name = functions[below(functions.length)] as string;
      return { name, text: forms[below(forms.length)]?.(name, "'x'::text") ?? "" };
    });
    for (const [name, argument] of harmful()) {
      for (const form of forms) attacks.push({ name, text: form(name, argument) });
    }
    attacks.push(...nameless().map((text) => ({ name: "", text })));
    const answered: Record<string, QueryOutcome> = {};
    for (const { name, text } of attacks) {
      const outcome = await reader.query(runOf(text, [], SHORT_MS));
      const isColumn = outcome.kind === "answered" && isColumnOnly(outcome);
      if (
        leaks(outcome) ||
        (outcome.kind === "answered" && !allowed.has(unquoted(name)) && !isColumn)
      ) {
        answered[text] = outcome;
      }
    }
    expect(answered, `BATON_SEED=${seed}`).toEqual({});
    await expectNoEffects();
  });

  /** In some forms the name is that of a column, which contains 1. */
  const isColumnOnly = ({ rows }: Extract<QueryOutcome, { kind: "answered" }>): boolean =>
    rows.every((row) => row[0] === 1 || row[0] === null);

  it("the role reads nothing but the views, without the other walls [MEM-14]", async () => {
    const reader = target.reader({ inspect: noGuard, checksResolved: false });
    const leaked: string[] = [];
    const isFreeToCall = new Set(["set_config", `${target.schema.schema}.leak`]);
    for (const [name, argument] of harmful()) {
      // Both are refused by the other walls: every role may call them.
      if (isFreeToCall.has(name) || argument.includes("set_config") || /lock|trap/.test(name))
        continue;
      for (const form of ["call", "call in FROM", "field of an alias"]) {
        const text = CALL_FORMS[form]?.(name, argument) ?? "";
        if (leaks(await reader.query(runOf(text, [], 500)))) leaked.push(text);
      }
    }
    const { schema } = target.schema;
    for (const text of [
      `select * from ${schema}.memories`,
      `select value from ${schema}.entries`,
    ]) {
      expect(await reader.query(runOf(text))).toMatchObject({ kind: "refused" });
    }
    expect(await reader.query(runOf("select rolpassword from pg_authid"))).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining("permission denied"),
    });
    expect(await reader.query(runOf("select pg_sleep(3600)", [], 300))).toEqual({
      kind: "timeout",
    });
    expect(leaked).toEqual([]);
    await expectNoEffects();
    expect(await reader.query(runOf("select content from memories"))).toMatchObject({
      rows: [["shared"]],
    });
  });

  it("the guard passes nothing that the check of the resolved query refuses [MEM-14]", async () => {
    const seed = chosenSeed();
    const { below } = randomFrom(seed);
    const reader = target.reader({});
    const names = ["f", "m", "id", "key", "lower", "ts_stat"];
    const refused: Record<string, QueryOutcome> = {};
    let ran = 0;
    for (let i = 0; i < runs(2_000); i++) {
      const text = randomQuery(names, below);
      if ((await prepareQuery({ text, params: [] })).kind !== "prepared") continue;
      ran += 1;
      const outcome = await reader.query(runOf(text));
      if (outcome.kind === "refused") refused[text] = outcome;
    }
    expect(refused, `BATON_SEED=${seed}`).toEqual({});
    expect(ran).toBeGreaterThan(0);
  });

  it.each([
    ["columns of views and aliases", "select m.id as a, memories.seq from memories, memories m"],
    ["columns of subqueries", "select q.n, q.count from (select 1 as n, count(*) from memories) q"],
    [
      "columns of functions",
      "select f.f, o.ordinality, e.key, v.value from unnest(array[1]) as f, unnest(array[1]) with ordinality as o, json_each('{\"a\":1}') e, json_array_elements('[1]') as v",
    ],
    [
      "renamed columns",
      "select f.a, q.b, q.n from unnest(array[1]) as f(a), (select 1, 2 as n) as q(b)",
    ],
    [
      "values and unnamed columns",
      "select v.column1, s.upper, s.case, s.int4, s.coalesce from (values (1)) v, (select upper('a'), case when true then 1 end, 1::int, coalesce(null, 1)) s",
    ],
    [
      "stars",
      "select q.id, r.content from (select * from memories) q, (select m.* from memories m) r",
    ],
    [
      "subqueries that shadow a view",
      "with memories as (select id from memories) select m.id from memories m",
    ],
    [
      "recursive subqueries",
      "with recursive t(n) as (select 1 union all select t.n + 1 from t where t.n < 3) cycle n set c using p select t.n, t.c from t",
    ],
    [
      "joins",
      "select j.id, u.task from (memories m join relations r on r.source = m.id) j, (handoffs h join deliveries d using (task) as u)",
    ],
    [
      "an alias in both parts of a union",
      "select m.id from memories m union all select m.id from handoffs m",
    ],
    [
      "outer references",
      "select m.id from memories m where exists (select 1 from handoffs h where h.memory = m.id)",
    ],
    ["parameters", "select m.id from memories m where m.content = ? and m.seq < ? limit ?"],
    [
      "similarity",
      "select m.id, cosine_similarity(m.embedding, '[1]') as s from memories m order by s",
    ],
    [
      "casts, dates and windows",
      "select cast(m.seq as text), m.seq::numeric(10,2), to_timestamp(m.stored_at / 1000.0)::date, extract(year from now()), rank() over (partition by m.agent order by m.seq), m.data ->> 'x', m.id in ('a', 'b'), row(1, 2) < row(2, 3), position('a' in m.id) from memories m",
    ],
  ])("a query with %s is answered through all walls [MEM-14]", async (_case, text) => {
    const params = text.includes("?") ? ["shared", "100", "5"] : [];
    expect(await target.reader({}).query(runOf(text, params))).toMatchObject({ kind: "answered" });
  });
});
