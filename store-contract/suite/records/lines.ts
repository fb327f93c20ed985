/**
 * Tests of reads on several branches at once, each up to a position, by readers with limited
 * visibility; of the tips of branches at a moment; and of memories that are stored together with
 * entries.
 */
import { describe, expect } from "vitest";
import type { MemoryFilter } from "../../../src/store/memory-filter.ts";
import type { NewMemory } from "../../../src/store/rows.ts";
import { CLOSED_BRANCH, type PutEntry } from "../../../src/store/store.ts";
import {
  END_OF_BRANCH,
  publicVisibility,
  type Reader,
  traceBranch,
  type Visibility,
} from "../../../src/store/visibility.ts";
import { expectOutcome, expectSingle } from "../expectations.ts";
import type { Scene, SceneTest } from "../scene.ts";

export function lines(it: SceneTest): void {
  describe("reading several branches", () => {
    it("returns the newest first across branches [MEM-10]", async ({ scene }) => {
      const ids = await createInterleaved(scene, ["main", "side", "main", "third", "side", "main"]);
      const sight = {
        ...publicVisibility("main"),
        lines: [wholeBranch("main"), wholeBranch("side")],
      };
      const seen = [ids[0], ids[1], ids[2], ids[4], ids[5]].reverse();
      expect(await findIds(scene, sight)).toEqual(seen);
      expect(await findIds(scene, sight, { limit: 3 })).toEqual(seen.slice(0, 3));
      expect(await findIds(scene, { ...sight, lines: [] })).toEqual([]);
    });

    it("reads each branch up to its given position [MEM-10]", async ({ scene }) => {
      const ids = await createInterleaved(scene, ["main", "side", "main", "side", "main"]);
      const cut = [
        { branch: "side", upTo: 1 },
        { branch: "main", upTo: 2 },
        { branch: "none", upTo: END_OF_BRANCH },
      ];
      const sight = { ...publicVisibility("main"), lines: cut };
      expect(await findIds(scene, sight)).toEqual([ids[2], ids[1], ids[0]]);
    });

    it.for<[string, MemoryFilter]>([
      ["without a filter", {}],
      ["with one filter", { task: "t1" }],
      ["with two filters", { task: "t1", agent: "ada" }],
    ])("pages without gaps or repeats, %s [MEM-10]", async ([_case, filter], { scene }) => {
      const branches = Array.from({ length: 90 }, (_, n) => ["main", "side", "third"][(n * 7) % 3]);
      const ids = await createInterleaved(scene, branches as string[]);
      const lines = [wholeBranch("main"), { branch: "side", upTo: 20 }];
      const sight = { ...publicVisibility("main"), lines };
      const whole = await findIds(scene, sight, { filter });
      expect(whole.length).toBeGreaterThan(40);
      expect(whole).toEqual(ids.filter((id) => whole.includes(id)).reverse());
      const paged: string[] = [];
      for (;;) {
        const before = paged.at(-1);
        const page = await findIds(scene, sight, { filter, limit: 7, ...(before && { before }) });
        paged.push(...page);
        if (page.length < 7) break;
      }
      expect(paged).toEqual(whole);
    });

    it("reads 70 branches at once [MEM-10]", async ({ scene }) => {
      const names = Array.from({ length: 70 }, (_, n) => `b${n}`);
      const ids = await createInterleaved(scene, [...names, "other", ...names]);
      const lines = names.map((branch, n) => ({ branch, upTo: n === 3 ? 1 : END_OF_BRANCH }));
      const sight = { ...publicVisibility("main"), lines };
      const seen = ids.filter((_, n) => n !== 70 && n !== 71 + 3).reverse();
      expect(await findIds(scene, sight)).toEqual(seen);
      const filter = { task: "t1" };
      expect(await findIds(scene, sight, { filter })).toEqual(seen);
      expect(await findIds(scene, sight, { filter, before: seen[9] ?? "", limit: 5 })).toEqual(
        seen.slice(10, 15),
      );
    });

    it("includes traces only on request [MEM-12]", async ({ scene }) => {
      const ids = await createInterleaved(scene, [
        "main",
        traceBranch("s1"),
        "side",
        traceBranch("s2"),
      ]);
      const sight = publicVisibility("main");
      expect(await findIds(scene, sight)).toEqual([ids[0]]);
      expect(await findIds(scene, { ...sight, traces: true })).toEqual([ids[3], ids[1], ids[0]]);
    });
  });

  describe("the visibility of a reader", () => {
    const readers: [string, Partial<Reader>, string[]][] = [
      ["an anonymous reader", {}, ["team"]],
      ["the author", { agent: "ada" }, ["team", "agent"]],
      ["a reader in the author's session", { session: "ada-1" }, ["team", "session"]],
      ["a reader of the author's user", { user: "olga" }, ["team", "user"]],
      [
        "the author in its session and for its user",
        { agent: "ada", session: "ada-1", user: "olga" },
        [...SCOPES],
      ],
    ];

    it.for(readers)(
      "fills pages with what %s may see [MEM-11]",
      async ([_who, who, scopes], { scene }) => {
        const records = Array.from({ length: 60 }, (_, n) => ({
          scope: SCOPES[n % SCOPES.length] as (typeof SCOPES)[number],
          record: scene.record("ada", {
            content: `${n}`,
            scope: SCOPES[n % SCOPES.length],
            tags: ["x"],
          }),
        }));
        await scene.remember(records.map(({ record }) => record));
        const expected = records
          .filter(({ scope }) => scopes.includes(scope))
          .map(({ record }) => record.id)
          .reverse();
        const sight = { ...publicVisibility("main"), reader: { ...ANONYMOUS_READER, ...who } };
        for (const filter of [{}, { tag: "x" }]) {
          expect(await findIds(scene, sight, { filter })).toEqual(expected);
          expect(await findIds(scene, sight, { filter, limit: 9 })).toEqual(expected.slice(0, 9));
        }
      },
    );

    it("leaves out quarantined memories and still fills pages [MEM-16]", async ({ scene }) => {
      const ids = await createInterleaved(
        scene,
        Array.from({ length: 12 }, () => "main"),
      );
      const quarantined = ids.filter((_, n) => n % 3 === 0);
      const sight = { ...publicVisibility("main"), quarantined };
      const seen = ids.filter((id) => !quarantined.includes(id)).reverse();
      expect(await findIds(scene, sight)).toEqual(seen);
      expect(await findIds(scene, sight, { filter: { task: "t1" }, limit: 5 })).toEqual(
        seen.slice(0, 5),
      );
    });

    it("ignores scopes in an internal read [MEM-10]", async ({ scene }) => {
      const target = scene.record("ada", "target");
      const relations = [{ kind: "supersedes" as const, to: target.id }];
      const mine = scene.record("ada", { content: "mine", scope: "agent", relations });
      await scene.remember([target, mine]);
      const sight: Visibility = { ...publicVisibility("main"), unscoped: true };
      expect(await findIds(scene, sight)).toEqual([mine.id, target.id]);
      const { store, workspace } = scene;
      const of = { workspace, memory: target.id, direction: "in" as const, limit: 10 };
      expect(await store.findRelations({ ...of, sight })).toMatchObject([{ source: mine.id }]);
      expect(await store.findRelations({ ...of, sight: publicVisibility("main") })).toEqual([]);
    });

    it("leaves out edges whose other end is not visible, and still fills pages [MEM-11]", async ({
      scene,
    }) => {
      const target = scene.record("ada", "target");
      const to = [{ kind: "supports" as const, to: target.id }];
      const hidden = scene.record("ada", { content: "mine", scope: "agent", relations: to });
      const elsewhere = scene.record("ada", { content: "elsewhere", relations: to });
      const open = [1, 2].map((n) => scene.record("ada", { content: `${n}`, relations: to }));
      const last = scene.record("ada", {
        content: "last",
        relations: [hidden, elsewhere].map(({ id }) => ({ kind: "references" as const, to: id })),
      });
      await scene.remember([target, hidden]);
      await scene.remember([elsewhere], { branch: "side" });
      await scene.remember([...open, last]);
      const { store, workspace } = scene;
      const sources = async (sight: Visibility, limit = 10) =>
        (
          await store.findRelations({
            ...{ workspace, memory: target.id, direction: "in", sight, limit },
          })
        ).map((edge) => edge.source);
      const sight = publicVisibility("main");
      const seen = open.map(({ id }) => id);
      expect(await sources(sight)).toEqual(seen);
      expect(await sources(sight, 1)).toEqual(seen.slice(0, 1));
      const ada = { ...sight, reader: { ...ANONYMOUS_READER, agent: "ada" } };
      expect(await sources(ada)).toEqual([hidden.id, ...seen]);
      expect(
        await sources({ ...sight, lines: [wholeBranch("main"), wholeBranch("side")] }),
      ).toEqual([elsewhere.id, ...seen]);
      const out = { workspace, memory: last.id, direction: "out", limit: 10 } as const;
      // Outgoing edges are visible whatever the branch of their target, but not across scopes.
      expect(await store.findRelations({ ...out, sight })).toMatchObject([
        { target: elsewhere.id },
      ]);
      expect(await store.findRelations({ ...out, sight: ada })).toHaveLength(2);
    });
  });

  describe("the tip of a branch", () => {
    it("is found for any time or memory, on any branch [MEM-15]", async ({ scene }) => {
      const branches = ["main", "side", "main", "main", "side", "main", "main", "side", "main"];
      const ids: string[] = [];
      const times: number[] = [];
      for (const [n, branch] of branches.entries()) {
        // Three memories share each timestamp.
        if (n % 3 === 0) scene.clock.advance(1_000);
        ids.push(...(await createInterleaved(scene, [branch])));
        times.push(scene.now);
      }
      const { store, workspace } = scene;
      const asked = ["side", "main", "none"];
      const tipsOf = (there: readonly number[]) =>
        asked.map((branch) => {
          const own = there.filter((n) => branches[n] === branch);
          return { seq: own.length, memory: ids[own.at(-1) ?? -1] ?? "" };
        });
      const every = branches.map((_, n) => n);
      expect(await store.findTips({ workspace, branches: asked })).toEqual(tipsOf(every));
      for (const [n, id] of ids.entries()) {
        const moment = { kind: "memory", id } as const;
        expect(await store.findTips({ workspace, branches: asked, moment })).toEqual(
          tipsOf(every.slice(0, n + 1)),
        );
      }
      for (const at of [0, ...times.flatMap((time) => [time - 1, time]), scene.now + 1]) {
        const moment = { kind: "time", at } as const;
        expect(await store.findTips({ workspace, branches: asked, moment })).toEqual(
          tipsOf(every.filter((n) => (times[n] ?? 0) <= at)),
        );
      }
      const unknown = { kind: "memory", id: "mem_unknown" } as const;
      expect(await store.findTips({ workspace, branches: asked, moment: unknown })).toEqual(
        tipsOf([]),
      );
    });
  });

  describe("finding an envelope", () => {
    it("returns it with its current deliveries [DLV-1]", async ({ scene }) => {
      const { store, workspace } = scene;
      const sent = await scene.send();
      const [first] = sent.deliveries;
      const found = await store.findEnvelope(workspace, first?.envelope ?? "");
      expect(found).toMatchObject({
        envelope: { id: first?.envelope, memory: sent.place.id },
        deliveries: [{ id: first?.id }],
      });
      expect(await store.findEnvelope(workspace, "env_unknown")).toBeUndefined();
      expect(await store.findEnvelope("elsewhere", first?.envelope ?? "")).toBeUndefined();
    });
  });

  describe("memories with entries", () => {
    it("are stored together with their entries, or not at all [MEM-10]", async ({ scene }) => {
      const { store, workspace } = scene;
      const stored = await scene.append(scene.record("ada"), { entries: [put("a"), put("b")] });
      expect(stored).toMatchObject({ kind: "appended", places: [{ seq: 1 }] });
      const again = await scene.append(scene.record("ada"), { entries: [put("c"), put("b")] });
      expect(again).toMatchObject({ kind: "entry_changed", entry: { name: "b", revision: 1 } });
      expect(await store.findEntry(workspace, "branch", "c")).toBeUndefined();
      const missing = await scene.append(scene.record("ada"), { entries: [put("d", 3)] });
      expect(missing).toEqual({ kind: "entry_changed", entry: undefined });
      const next = await scene.append(scene.record("ada"), { entries: [put("b", 1)] });
      expect(next).toMatchObject({ kind: "appended", places: [{ seq: 2 }] });
      expect(await store.findEntry(workspace, "branch", "b")).toMatchObject({ revision: 2 });
    });

    it("are refused when the tip of a branch has moved [MEM-10]", async ({ scene }) => {
      await scene.remember([scene.record("ada")], { branch: "side" });
      const entries = [put("a")];
      const moved = await scene.append(scene.record("ada"), {
        entries,
        tip: { branch: "side", seq: 0 },
      });
      expect(moved).toEqual({ kind: "tip_moved" });
      expect(await scene.everything()).toEqual([]);
      expect(await scene.store.findEntry(scene.workspace, "branch", "a")).toBeUndefined();
      const same = await scene.append(scene.record("ada"), {
        entries,
        tip: { branch: "side", seq: 1 },
      });
      expect(same).toMatchObject({ kind: "appended" });
      const own = await scene.append(scene.record("ada"), { tip: { branch: "main", seq: 1 } });
      expect(own).toMatchObject({ kind: "appended", places: [{ seq: 2 }] });
    });

    it("report a refused memory before a changed entry or tip [MEM-10]", async ({ scene }) => {
      const stored = scene.record("ada");
      await scene.remember([stored]);
      const entries = [put("a", 7)];
      const tip = { branch: "main", seq: 9 };
      expect(await scene.append(stored, { entries, tip })).toEqual({
        kind: "id_taken",
        id: stored.id,
      });
      expect(await scene.append(scene.record("nobody"), { entries, tip })).toMatchObject({
        kind: "unknown_agent",
      });
      expect(await scene.append(scene.record("ada"), { entries, tip })).toMatchObject({
        kind: "entry_changed",
      });
    });

    it("are stored once when several write the same entry concurrently [MEM-10]", async ({
      scene,
    }) => {
      const outcomes = await Promise.all(
        [1, 2, 3].map((n) => scene.append(scene.record("ada", `${n}`), { entries: [put("a")] })),
      );
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual([
        "appended",
        "entry_changed",
        "entry_changed",
      ]);
      expect(await scene.everything()).toHaveLength(1);
    });
  });

  describe("a closed branch", () => {
    it("refuses memories of appends, handoffs and settlements [MEM-10]", async ({ scene }) => {
      const where = { branch: "side" };
      const held = await scene.underWay({ where });
      const last = scene.record("ada", "the last");
      const closing = { ...where, entries: [{ ...put("side"), kind: CLOSED_BRANCH }] };
      expect(await scene.append(last, closing)).toMatchObject({ kind: "appended" });
      const before = await scene.everything(where);
      const closed = { kind: "branch_closed", branch: "side" };
      expect(await scene.append(scene.record("ada"), where)).toEqual(closed);
      expect(
        await scene.append(scene.record("ben"), { ...where, lease: scene.lease(held) }),
      ).toEqual(closed);
      expect(await scene.store.sendHandoff(scene.handoff({ task: "other", where }))).toEqual(
        closed,
      );
      const settlement = scene.settlement(held, { kind: "completed" });
      expect(await scene.store.settleDelivery({ ...settlement, ...where })).toEqual(closed);
      expect(await scene.everything(where)).toEqual(before);
      // Other branches are not affected; a taken id is reported first.
      expect(await scene.append(last, where)).toEqual({ kind: "id_taken", id: last.id });
      expectOutcome(await scene.store.settleDelivery(settlement), "settled");
    });

    it("refuses concurrent memories after the one that closes it [MEM-10]", async ({ scene }) => {
      const closing = { branch: "side", entries: [{ ...put("side"), kind: CLOSED_BRANCH }] };
      const last = scene.record("ada", "the last");
      const outcomes = await Promise.all([
        scene.append(scene.record("ada", "1"), { branch: "side" }),
        scene.append(last, closing),
        scene.append(scene.record("ada", "2"), { branch: "side" }),
        scene.append(scene.record("ada", "3"), { branch: "side" }),
      ]);
      const stored = await scene.everything({ branch: "side" });
      expect(stored[0]?.id, "whatever came before it, nothing comes after").toBe(last.id);
      expect(outcomes.filter(({ kind }) => kind === "appended")).toHaveLength(stored.length);
    });
  });
}

const SCOPES = ["team", "agent", "session", "user"] as const;
const ANONYMOUS_READER: Reader = { agent: "", session: "", user: "" };
const wholeBranch = (branch: string) => ({ branch, upTo: END_OF_BRANCH });
const put = (name: string, basedOn = 0): PutEntry => ({
  kind: "branch",
  name,
  value: "{}",
  basedOn,
});

/** Stores a memory on each of the branches, in this order. Returns their ids. */
async function createInterleaved(scene: Scene, branches: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const branch of branches) {
    const record: NewMemory = scene.record("ada", { content: branch, task: "t1" });
    ids.push(expectSingle(await scene.remember([record], { branch })).id);
  }
  return ids;
}

async function findIds(
  { store, workspace }: Scene,
  sight: Visibility,
  page: { filter?: MemoryFilter; limit?: number; before?: string } = {},
): Promise<string[]> {
  const query = { workspace, sight, filter: {}, limit: 1_000, ...page };
  return (await store.recentMemories(query)).map((row) => row.id);
}
