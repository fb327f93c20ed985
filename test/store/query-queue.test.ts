/** Whose SQL query runs next: on real stores with queries that never end, and the order by itself. */
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { QueryQueue } from "../../src/store/sql/query-queue.ts";
import type { QueryOutcome } from "../../src/store/sql-query.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/store/store.ts";
import { publicVisibility } from "../../src/store/visibility.ts";
import { openReferenceStore } from "../../store-contract/reference/open.ts";
import { refusal } from "../support/hub/support.ts";
import { reusableSchema } from "../support/postgres/schema.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const ENDLESS =
  "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t";
/** No slow query ends by itself while the test runs. */
const BOUNDS = { rows: 10, bytes: 1_000, ms: 600_000 };

const limits = DEFAULT_LIMITS;
const openOn: Readonly<Record<string, (stack: AsyncDisposableStack) => Promise<Store>>> = {
  sqlite: (stack) => {
    const folder = stack.use(temporaryFolder());
    return openSqliteStore({ file: folder.file("hub.db"), clock: systemClock, limits });
  },
  postgres: (stack) => openPostgresStore({ address: stack.use(reusableSchema()).address, limits }),
  memory: async () => openReferenceStore({ clock: systemClock }),
};

const askIn = (store: Store, workspace: string, text: string): Promise<QueryOutcome> =>
  store.query({
    ...{ workspace, text, params: [], bounds: BOUNDS },
    sight: publicVisibility("main"),
    vectors: { attached: true, model: "" },
  });

describe.each(Object.keys(openOn))("queries of several workspaces on %s", (name) => {
  it("slow queries of a workspace neither delay another nor pile up [MEM-14]", async () => {
    await using stack = new AsyncDisposableStack();
    const store = await openOn[name]?.(stack);
    if (store === undefined) throw new Error("no store");
    stack.defer(() => store.close());
    let settled = 0;
    const slow = Array.from({ length: 18 }, async () => {
      const error = await refusal(askIn(store, "busy", ENDLESS));
      settled += 1;
      return error.code;
    });
    for (const n of [1, 2, 3]) {
      expect(await askIn(store, "other", `select ${n}`)).toMatchObject({ rows: [[n]] });
    }
    expect(settled).toBe(0);
    expect(await refusal(askIn(store, "busy", "select 1"))).toMatchObject({
      code: "rate_limited",
      message: "16 SQL queries of callers without an agent are waiting already.",
      details: { waiting: 16 },
    });
    await store.close();
    expect(new Set(await Promise.all(slow))).toEqual(new Set(["store_closed"]));
  });
});

describe("the order of queries", () => {
  const askerOf = (workspace: string, agent: string) => ({
    workspace,
    sight: { reader: { agent } },
  });

  it("workspaces take turns, and so do the agents of a workspace [MEM-14]", async () => {
    const queue = new QueryQueue("store");
    const started: string[] = [];
    const ends: (() => void)[] = [];
    const done = ["a/x", "a/x", "a/x", "a/x", "a/y", "b/z", "b/z", "c/w"].map((who) => {
      const [workspace = "", agent = ""] = who.split("/");
      return queue.run(askerOf(workspace, agent), () => {
        started.push(who);
        return new Promise<void>((resolve) => ends.push(resolve));
      });
    });
    for (let i = 0; i < done.length; i++) {
      await expect.poll(() => ends.length).toBeGreaterThan(i);
      ends[i]?.();
    }
    await Promise.all(done);
    expect(started.slice(0, 3)).toEqual(["a/x", "a/x", "b/z"]);
    expect(started.indexOf("c/w")).toBeLessThan(5);
    expect(started.indexOf("a/y")).toBeLessThan(started.lastIndexOf("a/x"));
  });

  it("a workspace with many agents has a bounded queue too [MEM-14]", async () => {
    const queue = new QueryQueue("store");
    const never = () => new Promise<void>(() => {});
    const runs = Array.from({ length: 66 }, (_, i) =>
      queue.run(askerOf("a", `agent-${i}`), never).catch(() => {}),
    );
    expect(await refusal(queue.run(askerOf("a", "one-more"), never))).toMatchObject({
      code: "rate_limited",
      message: '64 SQL queries of workspace "a" are waiting already.',
    });
    queue.close();
    await Promise.all(runs.slice(2));
  });
});
