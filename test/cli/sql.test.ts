/** `baton sql`: read-only queries on the command line. */
import { describe, expect, it } from "vitest";
import { VIEW_NAMES } from "../../src/store/sql/views.ts";
import { testStore, withHandoff } from "./baton.ts";

describe("baton sql", () => {
  it("prints the result as a table, or as JSON with --json [MEM-14]", async () => {
    using store = testStore();
    await withHandoff(store);
    const query = "select from_agent, to_agent, intent from handoffs where task = ?";
    const shown = await store.baton("sql", query, "--param", "auth");
    expect(shown.code).toBe(0);
    expect(shown.stdout).toBe(
      "from_agent  to_agent  intent\nplanner     coder     Refactor auth\n(1 row)\n",
    );
    const data = await store.baton("sql", query, "--param", "auth", "--json");
    expect(JSON.parse(data.stdout)).toEqual({
      columns: ["from_agent", "to_agent", "intent"],
      rows: [{ from_agent: "planner", to_agent: "coder", intent: "Refactor auth" }],
    });
  });

  it("parses parameters as JSON where possible: numbers, vectors [MEM-14]", async () => {
    using store = testStore();
    await withHandoff(store);
    const { stdout } = await store.baton(
      ...["sql", "select ? + 1 as n, cosine_similarity(?, '[2,0]') as likeness, ? as t", "--json"],
      ...["--param", "41", "--param", "[1, 0]", "--param", "it's"],
    );
    expect(JSON.parse(stdout).rows).toEqual([{ n: 42, likeness: 1, t: "it's" }]);
  });

  it("shows private memories only to their agent [MEM-14]", async () => {
    using store = testStore();
    await withHandoff(store);
    {
      await using hub = await store.open();
      await (await hub.agent("planner")).remember({ content: "mine", scope: "agent" });
    }
    const query = "select content from memories where scope = 'agent'";
    expect((await store.baton("sql", query)).stdout).toContain("(0 rows)");
    expect((await store.baton("sql", query, "--as", "plan-bot")).stdout).toContain("mine");
  });

  it("lists views, and the columns of a view, without a store [MEM-14]", async () => {
    using store = testStore();
    const { stdout, code } = await store.baton("sql");
    expect(code).toBe(0);
    for (const view of VIEW_NAMES) expect(stdout).toContain(view);
    expect((await store.baton("sql", "handoffs")).stdout).toMatch(
      /context_type +text +The type of the payload/,
    );
    expect(Object.keys(JSON.parse((await store.baton("sql", "--json")).stdout))).toEqual([
      ...VIEW_NAMES,
    ]);
  });

  it.each([
    ["a write", ["delete from memories"], 77, "sql_refused"],
    ["an unknown column", ["select nothing from memories"], 65, "sql_failed"],
    ["a surplus parameter", ["select ?", "--param", "1", "--param", "2"], 64, "invalid_input"],
    ["too many rows", ["select * from agents", "--limit", "1"], 65, "limit_exceeded"],
    [
      "a timeout",
      [
        "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t",
        "--timeout",
        "200ms",
      ],
      75,
      "sql_timeout",
    ],
  ])("exits with the code of the error for %s [MEM-14]", async (_case, args, code, error) => {
    using store = testStore();
    await withHandoff(store);
    const run = await store.baton("sql", ...args, "--json");
    expect({ code: run.code, stdout: run.stdout }).toEqual({ code, stdout: "" });
    expect(JSON.parse(run.stderr)).toMatchObject({ code: error, hint: expect.stringMatching(/./) });
  });
});
