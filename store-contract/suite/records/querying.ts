/**
 * Tests of `query()`: read-only SQL over the views, limited to what the reader sees and by rows,
 * bytes and time.
 */
import { describe, expect } from "vitest";
import { columnsOf, VIEW_NAMES } from "../../../src/store/sql/views.ts";
import type { QueryOutcome, RunQuery } from "../../../src/store/sql-query.ts";
import { ANONYMOUS_READER, publicVisibility } from "../../../src/store/visibility.ts";
import { expectOutcome, expectSingle } from "../expectations.ts";
import type { Scene, SceneTest } from "../scene.ts";

const BOUNDS = { rows: 1_000, bytes: 1_000_000, ms: 5_000 };
const TEAM_VISIBILITY = publicVisibility("main");
const CONTENT = "select content from memories order by content";

function runQuery(
  scene: Scene,
  text: string,
  query: Partial<RunQuery> = {},
): Promise<QueryOutcome> {
  const { workspace } = scene;
  return scene.store.query({
    ...{ workspace, text, params: [], sight: TEAM_VISIBILITY, bounds: BOUNDS },
    vectors: { attached: true, model: "" },
    ...query,
  });
}

async function contents(scene: Scene, query: Partial<RunQuery> = {}): Promise<unknown[]> {
  const { rows } = expectOutcome(await runQuery(scene, CONTENT, query), "answered");
  return rows.map(([content]) => content);
}

export function querying(it: SceneTest): void {
  describe("SQL queries", () => {
    it("read every view with its columns in order [MEM-14]", async ({ scene }) => {
      await scene.send();
      for (const view of VIEW_NAMES) {
        const answer = expectOutcome(await runQuery(scene, `select * from ${view}`), "answered");
        expect([view, answer.columns]).toEqual([view, columnsOf(view)]);
      }
    });

    it("count every view, whichever column is read [MEM-14]", async ({ scene }) => {
      await scene.send();
      for (const view of VIEW_NAMES) {
        for (const traces of [false, true]) {
          for (const vectors of [
            { attached: true, model: "" },
            { attached: false, model: "m" },
          ]) {
            const asked = { sight: { ...TEAM_VISIBILITY, traces }, vectors };
            const all = expectOutcome(
              await runQuery(scene, `select * from ${view}`, asked),
              "answered",
            );
            for (const what of ["count(*)", ...columnsOf(view).map((name) => `count("${name}")`)]) {
              const counted = await runQuery(scene, `select ${what}, 1 from ${view}`, asked);
              expect([what, expectOutcome(counted, "answered").rows.length]).toEqual([what, 1]);
            }
            const once = await runQuery(scene, `select 1 from ${view}`, asked);
            expect(expectOutcome(once, "answered").rows).toEqual(all.rows.map(() => [1]));
          }
        }
      }
    });

    it("show a handoff with the content of its envelope [MEM-14]", async ({ scene }) => {
      const { delivery } = await scene.send({ from: "ada", to: "ben", task: "auth" });
      const text = `select h.id, h.task, h.from_agent, h.to_agent, d.id, d.state, d.from_agent
        from handoffs h join deliveries d on d.handoff = h.id`;
      expect(await runQuery(scene, text)).toEqual({
        kind: "answered",
        columns: ["id", "task", "from_agent", "to_agent", "id", "state", "from_agent"],
        rows: [[delivery.envelope, "auth", "ada", "ben", delivery.id, "ready", "ada"]],
      });
    });

    it("bind parameters as values, never as SQL [MEM-14]", async ({ scene }) => {
      await scene.remember([scene.record("ada", "it's"), scene.record("ada", "other")]);
      const text = "select content from memories where content = ?";
      const found = await runQuery(scene, text, { params: ["it's"] });
      expect(expectOutcome(found, "answered").rows).toEqual([["it's"]]);
      const none = await runQuery(scene, text, { params: ["x' or '1' = '1"] });
      expect(expectOutcome(none, "answered").rows).toEqual([]);
      expectOutcome(await runQuery(scene, text), "miscounted");
      expectOutcome(await runQuery(scene, text, { params: ["a", "b"] }), "miscounted");
    });

    it("show private memories only to their readers, and nothing of other workspaces [MEM-14]", async ({
      scene,
    }) => {
      await scene.remember([
        scene.record("ada", { content: "hers", scope: "agent" }),
        scene.record("ada", { content: "of a session", scope: "session", session: "s1" }),
        scene.record("ada", "everybody's"),
      ]);
      const elsewhere = { workspace: "elsewhere" };
      await scene.register("ada", {}, elsewhere.workspace);
      await scene.remember([scene.record("ada", "there")], elsewhere);
      const seenBy = (reader: Partial<typeof ANONYMOUS_READER>) =>
        contents(scene, {
          sight: { ...TEAM_VISIBILITY, reader: { ...ANONYMOUS_READER, ...reader } },
        });
      expect(await seenBy({})).toEqual(["everybody's"]);
      expect(await seenBy({ agent: "ben" })).toEqual(["everybody's"]);
      expect(await seenBy({ agent: "ada" })).toEqual(["everybody's", "hers"]);
      expect(await seenBy({ session: "s1" })).toEqual(["everybody's", "of a session"]);
      expect(await contents(scene, elsewhere)).toEqual(["there"]);
      expect(await contents(scene, { workspace: "nowhere" })).toEqual([]);
    });

    it("mark superseded memories by what is visible, on more than 5,000 branches [MEM-14]", async ({
      scene,
    }) => {
      const old = scene.record("ada", "old");
      await scene.remember([old]);
      const relations = [{ kind: "supersedes" as const, to: old.id }];
      await scene.remember([scene.record("ada", { content: "new", relations })], {
        branch: "side",
      });
      const many = Array.from({ length: 5_000 }, (_, n) => ({ branch: `b${n}`, upTo: n }));
      for (const [upTo, superseded] of [
        [0, 0],
        [1, 1],
      ] as const) {
        const lines = [...many, { branch: "side", upTo }];
        const text = "select superseded from memories where content = 'old'";
        const outcome = await runQuery(scene, text, { sight: { ...TEAM_VISIBILITY, lines } });
        expect(outcome).toMatchObject({ kind: "answered", rows: [[superseded]] });
      }
    });

    it("hide quarantined memories, and traces unless they are requested [MEM-14]", async ({
      scene,
    }) => {
      const gone = expectSingle(await scene.remember([scene.record("ada", "gone")]));
      await scene.remember([scene.record("ada", "a step")], { branch: "trace/s1" });
      await scene.remember([scene.record("ada", "aside")], { branch: "idea" });
      expect(await contents(scene)).toEqual(["aside", "gone"]);
      expect(await contents(scene, { sight: { ...TEAM_VISIBILITY, traces: true } })).toEqual([
        ...["a step", "aside", "gone"],
      ]);
      expect(
        await contents(scene, { sight: { ...TEAM_VISIBILITY, quarantined: [gone.id] } }),
      ).toEqual(["aside"]);
    });

    it.for([
      "delete from memories",
      "with gone as (delete from memories returning 1) select * from gone",
      "create table t (a int)",
      "select 1; delete from memories",
      "select * from workspaces",
      "select * from entries",
    ])("do not run %s [MEM-14]", async (text, { scene }) => {
      await scene.send();
      const outcome = await scene.unchanged(() => runQuery(scene, text));
      expect(["refused", "failed"]).toContain(outcome.kind);
    });

    it("return the engine's message for an invalid query [MEM-14]", async ({ scene }) => {
      const { message } = expectOutcome(
        await runQuery(scene, "select nothing from memories"),
        "failed",
      );
      expect(message).toContain("nothing");
    });

    it("refuse a result beyond the limit of rows or bytes [MEM-14]", async ({ scene }) => {
      await scene.remember(["a", "b", "c"].map((text) => scene.record("ada", text.repeat(900))));
      const bounded = (bounds: Partial<typeof BOUNDS>) =>
        runQuery(scene, CONTENT, { bounds: { ...BOUNDS, ...bounds } });
      expectOutcome(await bounded({ rows: 3, bytes: 3_000 }), "answered");
      expect(await bounded({ rows: 2 })).toEqual({ kind: "too_large", bound: "rows" });
      expect(await bounded({ bytes: 2_000 })).toEqual({ kind: "too_large", bound: "bytes" });
    });

    it("time out when they do not end, and the next one is answered [MEM-14]", async ({
      scene,
    }) => {
      const endless =
        "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t";
      const bounds = { ...BOUNDS, ms: 200 };
      expect(await runQuery(scene, endless, { bounds })).toEqual({ kind: "timeout" });
      expect(await contents(scene)).toEqual([]);
    });
  });
}
