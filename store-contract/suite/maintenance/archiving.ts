/**
 * Tests of export and import: a workspace is copied to another store complete and verified, or not
 * at all.
 */
import { describe, expect } from "vitest";
import type {
  Archive,
  ArchivedRow,
  ArchiveSummary,
  ExportItem,
} from "../../../src/store/archive.ts";
import type { Store } from "../../../src/store/store.ts";
import { openReferenceStore } from "../../reference/open.ts";
import { expectOutcome } from "../expectations.ts";
import { HOLD_MS, LEASE_MS } from "../handoff-input.ts";
import { Scene, type SceneTest } from "../scene.ts";

/** A workspace without the scene's own agents. */
const ELSEWHERE = "elsewhere";

interface WorkspaceExport {
  readonly summary: ArchiveSummary;
  readonly rows: readonly ArchivedRow[];
}

async function exportAll(store: Store, workspace: string): Promise<WorkspaceExport> {
  const [first, ...rows] = await Array.fromAsync(store.exportWorkspace(workspace));
  if (first?.kind !== "summary") throw new Error("an export begins with its summary");
  return { summary: first.summary, rows: rows as ArchivedRow[] };
}

const archiveOf = ({ summary, rows }: WorkspaceExport): Archive => ({
  summary,
  rows: (async function* () {
    yield* rows;
  })(),
});

const importInto = (store: Store, workspace: string, whole: WorkspaceExport) =>
  store.importWorkspace(workspace, archiveOf(whole));

/** Returns the export of a sample workspace in a reference store. */
async function exportSample(): Promise<WorkspaceExport> {
  const scene = await Scene.open(async ({ clock }) => ({ store: openReferenceStore({ clock }) }));
  try {
    await fillWorkspace(scene, ELSEWHERE);
    return await exportAll(scene.store, ELSEWHERE);
  } finally {
    await scene.end();
  }
}

async function fillWorkspace(scene: Scene, workspace: string): Promise<void> {
  const { store } = scene;
  await scene.register("ada", { aliases: ["a", "A-1"], role: "planner" }, workspace);
  await scene.register("ben", {}, workspace);
  const first = scene.record("ada", "the first");
  await scene.remember([first], { workspace });
  const second = scene.record("ben", {
    content: "the second — 你好 🎉",
    relations: [{ kind: "supports", to: first.id, from: 3, until: 9 }],
  });
  await scene.remember([second], { workspace, branch: "side" });
  for (const task of ["ready", "held"]) {
    scene.clock.advance(10);
    const refs = [first.id];
    expectOutcome(
      await store.sendHandoff(scene.handoff({ task, refs, where: { workspace } })),
      "sent",
    );
  }
  const claim = { receiver: "ben", instance: "ben-1", publicKey: "", process: "host/1/2" };
  const times = { leaseMs: LEASE_MS, holdMs: HOLD_MS, limit: 1 };
  const branch = scene.branch;
  const [taken] = expectOutcome(
    await store.claimDeliveries({ workspace, branch, task: "held", ...claim, ...times }),
    "claimed",
  ).claimed;
  expect(taken?.delivery.state).toBe("claimed");
  await store.putEntry(workspace, { kind: "key", name: "k", value: "[1]", basedOn: 0 });
}

export function archiving(it: SceneTest): void {
  describe("export and import", () => {
    it("exports a workspace that another store imports row for row", async ({ scene }) => {
      await fillWorkspace(scene, ELSEWHERE);
      const whole = await exportAll(scene.store, ELSEWHERE);
      expect(whole.summary.counts).toEqual({
        ...{ agent: 2, memory: 4, envelope: 2, delivery: 2, attempt: 0, entry: 1, event: 3 },
      });
      const other = openReferenceStore({ clock: scene.clock });
      expect(await importInto(other, ELSEWHERE, whole)).toMatchObject({ kind: "imported" });
      expect(await exportAll(other, ELSEWHERE)).toEqual(whole);
      await other.close();
    });

    it("imports the export of another store row for row and verifies it", async ({ scene }) => {
      const whole = await exportSample();
      const outcome = expectOutcome(await importInto(scene.store, ELSEWHERE, whole), "imported");
      expect(outcome.report).toMatchObject({ memories: 4, relations: 3, problems: [] });
      expect(await exportAll(scene.store, ELSEWHERE)).toEqual(whole);
      expect((await scene.store.verify(ELSEWHERE)).problems).toEqual([]);
      const edges = await scene.store.findRelations({
        workspace: ELSEWHERE,
        memory: whole.rows.flatMap((each) => (each.kind === "memory" ? each.row.id : []))[1] ?? "",
        direction: "out",
        sight: {
          lines: [],
          reader: { agent: "", session: "", user: "" },
          traces: false,
          quarantined: [],
        },
        limit: 10,
      });
      expect(edges).toMatchObject([{ kind: "supports", validFrom: 3, validUntil: 9 }]);
    });

    it("continues chains, inboxes and event numbers after an import", async ({ scene }) => {
      const whole = await exportSample();
      expectOutcome(await importInto(scene.store, ELSEWHERE, whole), "imported");
      scene.clock.advance(LEASE_MS); // Otherwise the seeded ids repeat the imported ones.
      const { store } = scene;
      const where = { workspace: ELSEWHERE };
      const [placed] = await scene.remember([scene.record("ada", "later")], where);
      const head = whole.summary.heads.find(({ branch }) => branch === scene.branch);
      expect(placed?.seq).toBe((head?.seq ?? 0) + 1);
      const sent = scene.handoff({ task: "later", where });
      expectOutcome(await store.sendHandoff(sent), "sent");
      const waiting = await store.listDeliveries({
        ...{ workspace: ELSEWHERE, receivers: ["ben"], states: ["ready"], limit: 10 },
      });
      expect(waiting.map(({ delivery }) => delivery.task)).toEqual(["ready", "later"]);
      const numbers = (await store.readEvents(ELSEWHERE, 0, 100)).map(({ number }) => number);
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      expect(new Set(numbers).size).toBe(4);
      expect((await store.verify(ELSEWHERE)).problems).toEqual([]);
    });

    it("returns `already_there` for a second import, also after more was written", async ({
      scene,
    }) => {
      const whole = await exportSample();
      expectOutcome(await importInto(scene.store, ELSEWHERE, whole), "imported");
      expect(await importInto(scene.store, ELSEWHERE, whole)).toEqual({ kind: "already_there" });
      scene.clock.advance(LEASE_MS);
      await scene.remember([scene.record("ada", "later")], { workspace: ELSEWHERE });
      expect(await importInto(scene.store, ELSEWHERE, whole)).toEqual({ kind: "already_there" });
    });

    it("leaves a workspace with another history unchanged", async ({ scene }) => {
      await scene.register("zoe", {}, ELSEWHERE);
      const before = await exportAll(scene.store, ELSEWHERE);
      const outcome = await importInto(scene.store, ELSEWHERE, await exportSample());
      expect(outcome).toEqual({ kind: "not_empty", records: 1 });
      expect(await exportAll(scene.store, ELSEWHERE)).toEqual(before);
    });

    it.for([
      ["a memory's text was changed", "memory", { text: "{}" }],
      ["a memory is missing", "memory", undefined],
      ["an envelope's memory is missing", "envelope", { memory: "mem_none" }],
      ["a delivery has another receiver", "delivery", { receiver: "ada" }],
      ["an entry was changed", "entry", { value: "[2]" }],
      ["an agent was changed", "agent", { role: "owner" }],
    ] as const)("stores nothing when %s", async ([, kind, change], { scene }) => {
      const whole = await exportSample();
      const at = whole.rows.findIndex((each) => each.kind === kind);
      const changed = whole.rows.map((each, i) =>
        i === at ? ({ ...each, row: { ...each.row, ...change } } as ArchivedRow) : each,
      );
      const rows = change === undefined ? whole.rows.toSpliced(at, 1) : changed;
      const outcome = await importInto(scene.store, ELSEWHERE, { ...whole, rows });
      expect(expectOutcome(outcome, "unsound").problems).not.toEqual([]);
      const left = await exportAll(scene.store, ELSEWHERE);
      expect(left).toEqual({ summary: expect.anything(), rows: [] });
      expectOutcome(await importInto(scene.store, ELSEWHERE, whole), "imported");
    });

    it("stores nothing when a row occurs twice", async ({ scene }) => {
      const whole = await exportSample();
      const rows = whole.rows.flatMap((each): ArchivedRow[] =>
        each.kind === "delivery" ? [each, each] : [each],
      );
      expectOutcome(await importInto(scene.store, ELSEWHERE, { ...whole, rows }), "unsound");
      expect((await exportAll(scene.store, ELSEWHERE)).rows).toEqual([]);
    });

    it("stores nothing when reading the rows throws", async ({ scene }) => {
      const whole = await exportSample();
      const torn = new Error("the file was torn");
      const rows = (async function* () {
        yield* whole.rows.slice(0, 5);
        throw torn;
      })();
      const archive = { summary: whole.summary, rows };
      await expect(scene.store.importWorkspace(ELSEWHERE, archive)).rejects.toBe(torn);
      expect((await exportAll(scene.store, ELSEWHERE)).rows).toEqual([]);
      expect((await scene.store.verify(scene.workspace)).problems).toEqual([]);
    });

    it("exports one snapshot, whatever is written while it is read", async ({ scene }) => {
      await fillWorkspace(scene, ELSEWHERE);
      const before = await exportAll(scene.store, ELSEWHERE);
      const reading = scene.store.exportWorkspace(ELSEWHERE);
      const read: ExportItem[] = [];
      for await (const item of reading) {
        if (read.length === 0) {
          await scene.remember([scene.record("ada", "meanwhile")], { workspace: ELSEWHERE });
          await scene.register("zoe", {}, ELSEWHERE);
        }
        read.push(item);
      }
      expect(read).toEqual([{ kind: "summary", summary: before.summary }, ...before.rows]);
      const after = await exportAll(scene.store, ELSEWHERE);
      expect(after.rows).toHaveLength(before.rows.length + 2);
    });

    it("accepts writes after an export was read only in part", async ({ scene }) => {
      await fillWorkspace(scene, ELSEWHERE);
      for await (const item of scene.store.exportWorkspace(ELSEWHERE)) {
        if (item.kind === "memory") break;
      }
      await scene.remember([scene.record("ada", "after it")], { workspace: ELSEWHERE });
    });

    it("exports an unknown workspace as empty", async ({ scene }) => {
      const { summary, rows } = await exportAll(scene.store, "nobody");
      expect(rows).toEqual([]);
      expect(Object.values(summary.counts)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    });
  });
}
