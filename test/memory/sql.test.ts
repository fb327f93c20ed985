/** Tests read-only SQL queries over the views: results, visibility and limits. */
import { describe, expect, it } from "vitest";
import type { Agent, Hub, HubOptions } from "../../src/index.ts";
import { type Embedder, toUnit } from "../../src/search/embedding/embedder.ts";
import { columnsOf, VIEW_NAMES } from "../../src/store/sql/views.ts";
import * as support from "../support/hub/support.ts";
import { refusal, STORES, type StoreName, take } from "../support/hub/support.ts";

/** High, because the machine may be busy; tests of timeouts set their own. */
const limits = { sqlMs: 60_000 };

const openFresh = (store: StoreName, options: HubOptions = {}): Promise<Hub> =>
  support.openFresh(store, { limits, ...options });

const openTwo = (store: StoreName, ...options: [HubOptions, HubOptions]) => {
  const [first, second] = options.map((each) => ({ limits, ...each }));
  return support.openTwo(store, first, second);
};

const PLAN = { type: "plan", data: { steps: ["a", "b"], embedding: [0, 3] } };

/** Returns an embedder that counts how often each of a few words occurs. */
function wordCounter(words: readonly string[]): Embedder {
  const count = (text: string, word: string) => text.split(/\W+/).filter((each) => each === word);
  return {
    model: "words",
    dimensions: words.length,
    balanced: false,
    isLocal: true,
    longest: 1_000,
    embed: async (texts) =>
      texts.map((text) => toUnit(Float32Array.from(words, (word) => count(text, word).length))),
  };
}

/** Opens a hub in which ada and ben have written memories and ada has sent ben a handoff. */
async function scene(store: StoreName) {
  const hub = await openFresh(store, { embedder: false });
  const ada = await hub.agent("ada", { role: "planner", aliases: ["a1"], window: 8_000 });
  const ben = await hub.agent("ben", { role: "coder", owner: "o'neil" });
  const [old] = await ada.remember([
    { content: "Use tabs", type: "convention", tags: ["style", "it's"], importance: 0.5 },
    { content: "North", data: { embedding: [0, 1], n: 1 }, run: "run-1", task: "auth" },
    { content: "East", data: { embedding: [1, 0] }, validFrom: 5, validUntil: 9 },
  ]);
  const kind = "supersedes" as const;
  const to = old?.id ?? "";
  await ben.remember({ content: "Use spaces", type: "convention", relations: [{ kind, to }] });
  const sent = await ada.handoff({
    to: "ben",
    task: "auth",
    run: "run-42",
    intent: "Refactor auth → now",
    payload: PLAN,
    policy: { backoff: { firstMs: 3_600_000, longestMs: 3_600_000 } },
  });
  return { hub, ada, ben, sent, old };
}

describe.each(STORES)("SQL on %s", (store) => {
  it("returns the documented columns of each view, in order [MEM-14]", async () => {
    const { hub, ben } = await scene(store);
    await (await take(ben)).fail({ message: "no" });
    for (const view of VIEW_NAMES) {
      const { columns, rows } = await hub.memories.sql(`select * from ${view}`);
      expect({ view, columns }).toEqual({ view, columns: columnsOf(view) });
      expect({ view, empty: rows.length === 0 }).toEqual({ view, empty: false });
    }
  });

  it("returns memories as they were written [MEM-14]", async () => {
    const { hub, ada, old } = await scene(store);
    const { rows } = await hub.memories.sql("select * from memories order by seq");
    expect(rows[0]).toEqual({
      id: old?.id,
      branch: "main",
      seq: 1,
      type: "convention",
      content: "Use tabs",
      agent: "ada",
      session: ada.instance,
      run: null,
      task: null,
      tags: '["style","it\'s"]',
      concepts: "[]",
      refs: "[]",
      data: null,
      importance: 0.5,
      confidence: null,
      scope: "team",
      created_at: old?.createdAt,
      stored_at: old?.storedAt,
      valid_from: null,
      valid_until: null,
      superseded: 1,
      handoff: null,
      signed: 0,
      link: old?.link,
      embedding: null,
    });
    expect(rows[1]).toMatchObject({ run: "run-1", task: "auth", superseded: 0 });
    expect(rows[2]).toMatchObject({ valid_from: 5, valid_until: 9, embedding: "[1,0]" });
    expect(rows[4]).toMatchObject({ type: "handoff", handoff: expect.stringMatching(/^env_/) });
    const related = await hub.memories.sql(
      `select s.content, r.kind, t.content from relations r
       join memories s on s.id = r.source join memories t on t.id = r.target
       where r.kind = 'supersedes'`,
    );
    expect(related).toEqual({
      columns: ["content", "kind", "content_2"],
      rows: [{ content: "Use spaces", kind: "supersedes", content_2: "Use tabs" }],
    });
  });

  it("finds the payload of a handoff by run, receiver and type [MEM-14]", async () => {
    const { hub, sent } = await scene(store);
    const plan = await hub.memories.sql(
      `select payload from handoffs
       where run = ? and to_agent = 'ben' and context_type = 'plan'
       order by created_at desc limit 1`,
      { params: ["run-42"] },
    );
    expect(plan.rows.map(({ payload }) => JSON.parse(`${payload}`))).toEqual([PLAN.data]);
    const fields = await hub.memories.sql(
      `select payload ->> 'steps' as steps, from_agent, from_role, action, intent, task, hop,
         memory, id from handoffs where run=? and task=?`,
      { params: ["run-42", "auth"] },
    );
    expect(fields.rows).toEqual([
      {
        steps: '["a","b"]',
        from_agent: "ada",
        from_role: "planner",
        action: "delegated",
        intent: "Refactor auth → now",
        task: "auth",
        hop: 0,
        memory: sent.memory,
        id: sent.envelope.id,
      },
    ]);
  });

  it.each([
    ["a list of numbers", [0, 2]],
    ["a Float32Array", new Float32Array([0, 2])],
    ["JSON", "[0, 2]"],
  ])(
    "ranks handoffs and memories by the similarity of their vectors to %s [MEM-14]",
    async (_case, vector) => {
      const { hub } = await scene(store);
      const ranked = await hub.memories.sql(
        `select content, cosine_similarity(embedding, $1) as score from memories
       where embedding is not null order by score desc limit $2`,
        { params: [vector, 5] },
      );
      expect(ranked.rows).toEqual([
        { content: "North", score: 1 },
        { content: "East", score: 0 },
      ]);
      const relevant = await hub.memories.sql(
        `select payload, cosine_similarity(embedding, ?) as score from handoffs
       where run = ? order by score desc limit 5`,
        { params: [vector, "run-42"] },
      );
      expect(relevant.rows.map(({ score }) => score)).toEqual([1]);
    },
  );

  it("returns null for vectors that cannot be compared [MEM-14]", async () => {
    const { hub } = await scene(store);
    const { rows } = await hub.memories.sql(
      `select cosine_similarity(embedding, '[1]') as a, cosine_similarity(embedding, '[0,0]') as b,
         cosine_similarity(null, '[1,0]') as c, cosine_similarity(embedding, '[1,"x"]') as d
       from memories where content = 'North' or content = 'Use tabs'`,
    );
    const none = { a: null, b: null, c: null, d: null };
    expect(rows).toEqual([none, none]);
  });

  it("compares a text with the vectors of the hub's embedder [MEM-14]", async () => {
    const embedder = wordCounter(["refund", "login", "invoice"]);
    const hub = await openFresh(store, { embedder });
    const ada = await hub.agent("ada", {});
    await hub.agent("ben", {});
    await ada.remember([
      { content: "refund refund invoice" },
      { content: "login" },
      { content: "nothing it knows", data: { embedding: [1, 0, 0] } },
    ]);
    await ada.handoff({ to: "ben", task: "t", intent: "login" });
    await hub.index.embed();
    const near = await hub.memories.sql(
      `select content, cosine_similarity(embedding, ?) as score from memories
       where embedding is not null and type = 'fact' order by score desc`,
      { params: [{ text: "refund" }] },
    );
    expect(near.rows.map(({ content }) => content)).toEqual(["refund refund invoice", "login"]);
    expect(near.rows[0]?.["score"]).toBeCloseTo(2 / Math.sqrt(5), 2);
    expect(near.rows[1]?.["score"]).toBe(0);
    const handed = await hub.memories.sql(
      "select cosine_similarity(embedding, ?) as score from handoffs",
      {
        params: [{ text: "login" }],
      },
    );
    expect(handed.rows[0]?.["score"]).toBeCloseTo(1, 5);
  });

  it("compares a text with attached vectors only by a custom embed function [MEM-14]", async () => {
    const hub = await openFresh(store, { embedder: false });
    const ada = await hub.agent("ada", {});
    await ada.remember([
      { content: "North", data: { embedding: [0, 1] } },
      { content: "East", data: { embedding: [1, 0] } },
    ]);
    const asked: string[] = [];
    const embed = async (text: string) => {
      asked.push(text);
      return new Float32Array([4, 0]);
    };
    const query = `select content from memories where embedding is not null
      order by cosine_similarity(embedding, ?) desc limit 1`;
    const params = [{ text: "sunrise" }];
    expect((await hub.memories.sql(query, { params, embed })).rows).toEqual([{ content: "East" }]);
    expect(asked).toEqual(["sunrise"]);
    expect(await refusal(hub.memories.sql(query, { params }))).toMatchObject({
      code: "invalid_input",
      path: "params[0]",
    });
  });

  it("shows the state of deliveries, attempts, tasks, agents and events [MEM-14]", async () => {
    const { hub, ben, sent } = await scene(store);
    const work = await take(ben);
    await work.fail({ message: "The tests are red" });
    const { rows } = await hub.memories.sql(
      `select d.state, d.attempt, d.from_agent, d.to_agent, d.in_turn, d.handoff,
         a.outcome, a.agent, a.reason ->> 'message' as why, d.settled_at
       from deliveries d join attempts a on a.delivery = d.id`,
    );
    expect(rows).toEqual([
      {
        state: "scheduled",
        attempt: 1,
        from_agent: "ada",
        to_agent: "ben",
        in_turn: 1,
        handoff: sent.envelope.id,
        outcome: "failed",
        agent: "ben",
        why: "The tests are red",
        settled_at: null,
      },
    ]);
    expect(
      (await hub.memories.sql("select task, run, handoffs, open, completed, dead from tasks")).rows,
    ).toEqual([{ task: "auth", run: "run-42", handoffs: 1, open: 1, completed: 0, dead: 0 }]);
    expect(
      (
        await hub.memories.sql(
          "select id, role, owner, aliases, context_window, kind from agents where id <> 'baton' order by id",
        )
      ).rows,
    ).toEqual([
      {
        id: "ada",
        role: "planner",
        owner: null,
        aliases: '["a1"]',
        context_window: 8_000,
        kind: "agent",
      },
      {
        id: "ben",
        role: "coder",
        owner: "o'neil",
        aliases: "[]",
        context_window: null,
        kind: "agent",
      },
    ]);
    const kinds = (await hub.memories.sql("select kind from events order by number")).rows.map(
      (row) => row["kind"],
    );
    expect(kinds).toEqual(["sent", "accepted", "failed"]);
  });

  it("supports aggregates, window functions, subqueries and recursion [MEM-14]", async () => {
    const { hub, old } = await scene(store);
    const grouped = await hub.memories.sql(
      `with counted as (select agent, count(*) as n, avg(seq) as middle from memories group by agent)
       select agent, n, middle, row_number() over (order by n desc) as place from counted
       where n > (select 0) order by place`,
    );
    expect(grouped.rows).toEqual([
      { agent: "ada", n: 4, middle: 2.75, place: 1 },
      { agent: "ben", n: 1, middle: 4, place: 2 },
    ]);
    const walked = await hub.memories.sql(
      `with recursive reached(id, depth) as (
         select source, 1 from relations where target = $1
         union select r.source, reached.depth + 1 from relations r join reached on r.target = reached.id
         where reached.depth < 5)
       select count(*) as n from reached`,
      { params: [old?.id ?? ""] },
    );
    expect(walked.rows).toEqual([{ n: 1 }]);
    expect((await hub.memories.sql("values (1, 'x'), (2, null)")).rows).toHaveLength(2);
  });

  it("binds parameters by order or number, and treats them as data [MEM-14]", async () => {
    const { hub } = await scene(store);
    const nasty = "'; drop table memories; --";
    const { rows } = await hub.memories.sql(
      "select cast(? as text) as a, cast(? as text) as b, '?' as c /* ? */ -- ?",
      { params: [nasty, "Crème 😀"] },
    );
    expect(rows).toEqual([{ a: nasty, b: "Crème 😀", c: "?" }]);
    const again = await hub.memories.sql(
      "select cast($2 as text) as a, cast($1 as text) as b, cast($2 as text) as c",
      {
        params: ["1", "2"],
      },
    );
    expect(again.rows).toEqual([{ a: "2", b: "1", c: "2" }]);
    for (const [query, params] of [
      ["select ?", []],
      ["select 1", ["x"]],
      ["select cast($2 as text)", ["x"]],
    ] as const) {
      expect(await refusal(hub.memories.sql(query, { params: [...params] }))).toMatchObject({
        ...{ code: "invalid_input", path: "params", hint: expect.stringMatching(/parameter/) },
      });
    }
  });

  it("returns empty views for an empty workspace [MEM-14]", async () => {
    const hub = await openFresh(store, { workspace: "empty" });
    for (const view of VIEW_NAMES) {
      expect((await hub.memories.sql(`select * from ${view}`)).rows).toEqual([]);
    }
  });

  it("sees a write that has returned [MEM-14]", async () => {
    const { hub, ada } = await scene(store);
    const count = async () =>
      (await hub.memories.sql("select count(*) as n from memories")).rows[0]?.["n"];
    const before = Number(await count());
    await ada.remember({ content: "one more" });
    expect(await count()).toBe(before + 1);
  });

  it("is refused by a closed hub [MEM-14]", async () => {
    const { hub } = await scene(store);
    await hub.close();
    expect((await refusal(hub.memories.sql("select 1"))).code).toBe("store_closed");
  });
});

describe.each(STORES)("visibility in SQL on %s", (store) => {
  const CONTENT = "select content from memories where type <> 'handoff' order by content";

  it("shows private records only to their readers [MEM-14]", async () => {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    const [secret] = await ada.remember([
      { content: "ada's own", scope: "agent" },
      { content: "this session's", scope: "session" },
      { content: "everybody's", scope: "team" },
    ]);
    const kind = "references" as const;
    const relations = [{ kind, to: secret?.id ?? "" }];
    await ada.remember({ content: "points", scope: "agent", relations });
    const texts = async ({ memories }: Pick<Hub | Agent, "memories">) =>
      (await memories.sql(CONTENT)).rows.map(({ content }) => content);
    expect(await texts(ada)).toEqual(["ada's own", "everybody's", "points", "this session's"]);
    expect(await texts(await hub.agent("ada"))).toEqual(["ada's own", "everybody's", "points"]);
    expect(await texts(ben)).toEqual(["everybody's"]);
    expect(await texts(hub)).toEqual(["everybody's"]);
    const edges = "select count(*) as n from relations";
    expect((await ada.memories.sql(edges)).rows).toEqual([{ n: 1 }]);
    expect((await ben.memories.sql(edges)).rows).toEqual([{ n: 0 }]);
  });

  it("shows that a private record supersedes another only to its readers [MEM-14]", async () => {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", {});
    const old = await ada.remember({ content: "old" });
    const relations = [{ kind: "supersedes" as const, to: old.id }];
    await ada.remember({ content: "new", scope: "agent", relations });
    const query = "select superseded from memories where content = 'old'";
    expect((await ada.memories.sql(query)).rows).toEqual([{ superseded: 1 }]);
    expect((await hub.memories.sql(query)).rows).toEqual([{ superseded: 0 }]);
  });

  it("shows superseded memories depending on the branch [MEM-14]", async () => {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", {});
    const old = await ada.remember({ content: "old" });
    const relations = [{ kind: "corrects" as const, to: old.id }];
    const superseded = async ({ memories }: Pick<Hub | Agent, "memories">, content = "old") =>
      (
        await memories.sql("select superseded from memories where content = ?", {
          params: [content],
        })
      ).rows[0]?.["superseded"];
    for (const name of ["given-up", "open"]) {
      const branch = await ada.branches.create(name);
      await branch.remember({ content: name, relations });
      expect(await superseded(branch)).toBe(1);
    }
    await ada.branches.abandon("given-up", "No.");
    expect(await superseded(hub)).toBe(0);
    const open = await ada.branches.use("open");
    const first = await open.remember({ content: "first" });
    await open.remember({ content: "second", relations: [{ kind: "supersedes", to: first.id }] });
    expect(await superseded(hub, "first"), "by a record of its own branch").toBe(1);
    await ada.branches.merge("open");
    expect(await superseded(hub)).toBe(1);
    expect(await superseded(await ada.branches.use("given-up"), "open"), "and by nothing").toBe(0);
  });

  it("never evaluates an expression on a hidden record [MEM-14]", async () => {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", {});
    await ada.remember({ content: "12" });
    await ada.remember({ content: "not a number", scope: "agent" });
    const cast = store === "postgres" ? "cast(content as integer)" : "json_extract(content, '$')";
    for (const query of [
      `select content from memories where ${cast} > 0`,
      `select m.content from memories m join agents a on a.id = m.agent and ${cast} > 0`,
      `select content from memories where exists (select 1 from agents where ${cast} > 0)`,
      `select max(${cast}) as content from memories`,
    ]) {
      expect((await hub.memories.sql(query)).rows.map(({ content }) => Number(content))).toEqual([
        12,
      ]);
      expect((await refusal(ada.memories.sql(query))).code).toBe("sql_failed");
    }
  });

  it("does not reveal by an error whether a hidden record exists [MEM-14]", async () => {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", {});
    await ada.remember(Array.from({ length: 50 }, (_, i) => ({ content: `shared ${i}` })));
    const { id } = await ada.remember({ content: "hers", scope: "agent" });
    const cell = (there: string, not: string) =>
      `case when id = ? then '${there}' else '${not}' end`;
    const fails =
      store === "postgres"
        ? `cast(${cell("x", "1")} as integer) = 1`
        : `json_extract(${cell("{", "1")}, '$') = 1`;
    for (const where of [fails, `id > '' and ${fails}`, `id >= 'mem_' and seq > 0 and ${fails}`]) {
      const query = `select count(*) as n from memories where ${where}`;
      expect((await hub.memories.sql(query, { params: [id] })).rows).toEqual([{ n: 50 }]);
      expect((await refusal(ada.memories.sql(query, { params: [id] }))).code).toBe("sql_failed");
    }
  });

  it("marks handoffs that carry quarantined memories [MEM-14 MEM-16]", async () => {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", { role: "memory-keeper" });
    const lie = await ada.remember({ content: "a lie" });
    const payload = { type: "note", data: { embedding: [1, 0] } };
    await ada.handoff({ to: "ben", task: "carries", intent: "Go", refs: [lie.id], payload });
    await ada.handoff({ to: "ben", task: "is", intent: "Go", payload });
    const clean = await ada.handoff({ to: "ben", task: "neither", intent: "Go", payload });
    const rows = async () =>
      (
        await hub.memories.sql(
          "select task, memory, embedding, quarantined from handoffs order by task",
        )
      ).rows;
    const all = await rows();
    expect(all.map(({ quarantined }) => quarantined)).toEqual([0, 0, 0]);
    const record = String(all[1]?.["memory"]);
    await ben.memories.quarantine([lie.id, record], "made up");
    expect(await rows()).toEqual([
      { ...all[0], quarantined: 1 },
      { task: "is", memory: null, embedding: null, quarantined: 1 },
      all[2],
    ]);
    const found = await hub.memories.sql("select id, task from handoffs where quarantined = 0");
    expect(found.rows).toEqual([{ id: clean.envelope.id, task: "neither" }]);
    expect(
      (await hub.memories.sql("select id from memories where id = ?", { params: [record] })).rows,
    ).toEqual([]);
    await ben.memories.lift([lie.id, record], "it was right");
    expect(await rows()).toEqual(all);
  });

  it("does not show other workspaces [MEM-14]", async () => {
    const [here, there] = await openTwo(store, { workspace: "here" }, { workspace: "there" });
    const spy = await here.agent("spy", {});
    const ada = await there.agent("ada", {});
    await there.agent("ben", {});
    await ada.remember({ content: "secret" });
    await ada.handoff({ to: "ben", task: "t", intent: "secret" });
    for (const view of VIEW_NAMES.filter((name) => name !== "agents")) {
      expect((await spy.memories.sql(`select * from ${view}`)).rows).toEqual([]);
    }
    expect((await spy.memories.sql("select id from agents where id <> 'baton'")).rows).toEqual([
      { id: "spy" },
    ]);
  });
});

describe.each(STORES)("SQL limits on %s", (store) => {
  it("fails on too many rows instead of truncating the result [MEM-14]", async () => {
    const { hub } = await scene(store);
    expect((await hub.memories.sql("select seq from memories", { limit: 5 })).rows).toHaveLength(5);
    expect(await refusal(hub.memories.sql("select seq from memories", { limit: 4 }))).toMatchObject(
      {
        code: "limit_exceeded",
        details: { limit: "sqlRows", max: 4 },
      },
    );
    expect(
      (await hub.memories.sql("select seq from memories limit 4", { limit: 4 })).rows,
    ).toHaveLength(4);
  });

  it("refuses options above the limits of the hub [MEM-14]", async () => {
    const hub = await openFresh(store, { limits: { sqlRows: 10, sqlMs: 1_000 } });
    for (const options of [{ limit: 11 }, { timeoutMs: 1_001 }]) {
      expect((await refusal(hub.memories.sql("select 1", options))).code).toBe("limit_exceeded");
    }
  });

  it("fails on results with too many bytes [MEM-14]", async () => {
    const hub = await openFresh(store, { limits: { ...limits, sqlBytes: 10_000 } });
    const ada = await hub.agent("ada", {});
    await ada.remember(Array.from({ length: 3 }, () => ({ content: "x".repeat(4_000) })));
    expect((await hub.memories.sql("select content from memories limit 2")).rows).toHaveLength(2);
    expect(await refusal(hub.memories.sql("select content from memories"))).toMatchObject({
      code: "limit_exceeded",
      details: { limit: "sqlBytes" },
    });
  });

  it.each([
    [
      "an endless recursion",
      "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t",
    ],
    [
      "a large cross join",
      `select count(*) from memories a, memories b, memories c, memories d, memories e, memories f,
         memories g, memories h, memories i, memories j, memories k, memories l, memories m, memories n`,
    ],
  ])("stops %s at the timeout, and answers the next query [MEM-14]", async (_case, query) => {
    const { hub } = await scene(store);
    expect(await refusal(hub.memories.sql(query, { timeoutMs: 300 }))).toMatchObject({
      code: "sql_timeout",
      details: { ms: 300 },
    });
    expect((await hub.memories.sql("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });

  it("answers concurrent queries while one of them never ends [MEM-14]", async () => {
    const { hub } = await scene(store);
    const endless =
      "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t";
    const lost = refusal(hub.memories.sql(endless, { timeoutMs: 500 }));
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        hub.memories.sql("select cast(? as text) as i", { params: [`${i}`] }),
      ),
    );
    expect(answers.map(({ rows }) => rows[0]?.["i"])).toEqual(answers.map((_, i) => `${i}`));
    expect((await lost).code).toBe("sql_timeout");
  });
});
