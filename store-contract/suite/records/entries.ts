/** Tests of entries: values by kind and name, changed by compare-and-set. */
import { describe, expect } from "vitest";
import { entryDigest } from "../../../src/store/rows.ts";
import type { PutEntry } from "../../../src/store/store.ts";
import { expectOutcome } from "../expectations.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = "elsewhere";

export function entries(it: SceneTest): void {
  describe("entries", () => {
    it("returns an entry as it was put, with its revision, time and digest [DLV-9]", async ({
      scene,
    }) => {
      const { workspace } = scene;
      const value = '{"a":"Crème","b":[1,2]}';
      const outcome = await put(scene, { value });
      const entry = { kind: "key", name: "k", value, revision: 1 };
      const expected = { ...entry, at: scene.now, digest: entryDigest(entry) };
      expect(outcome).toEqual({ kind: "put", entry: expected });
      await scene.reopen();
      expect(await scene.store.findEntry(workspace, "key", "k")).toEqual(expected);
    });

    it("increments the revision and updates the time with a change [DLV-9]", async ({ scene }) => {
      await put(scene, {});
      scene.clock.advance(5);
      const { entry } = expectOutcome(await put(scene, { value: "2", basedOn: 1 }), "put");
      expect(entry).toMatchObject({ revision: 2, value: "2", at: scene.now });
      expect(await scene.store.findEntry(scene.workspace, "key", "k")).toEqual(entry);
    });

    it.for<[string, Partial<PutEntry>]>([
      ["a change based on no entry", { basedOn: 0 }],
      ["a change based on an older revision", { basedOn: 1 }],
      ["a change based on a later revision", { basedOn: 3 }],
      ["a deletion based on an older revision", { basedOn: 1, value: undefined }],
      ["a deletion based on no entry", { basedOn: 0, value: undefined }],
    ])("refuses %s, and returns the current entry [DLV-9]", async ([_case, change], { scene }) => {
      await put(scene, {});
      const { entry } = expectOutcome(await put(scene, { value: "2", basedOn: 1 }), "put");
      const outcome = await scene.unchanged(() => put(scene, { value: "3", ...change }));
      expect(outcome).toEqual({ kind: "changed", entry });
    });

    it("refuses a change based on an entry that does not exist [DLV-9]", async ({ scene }) => {
      for (const value of ["1", undefined]) {
        const outcome = await scene.unchanged(() => put(scene, { value, basedOn: 1 }));
        expect(outcome).toEqual({ kind: "changed", entry: undefined });
      }
    });

    it("deletes an entry, which can be put again [DLV-9]", async ({ scene }) => {
      const { workspace } = scene;
      await put(scene, {});
      expect(await put(scene, { value: undefined, basedOn: 1 })).toEqual({
        kind: "put",
        entry: undefined,
      });
      expect(await scene.store.findEntry(workspace, "key", "k")).toBeUndefined();
      expect(await list(scene)).toEqual([]);
      expect(await put(scene, {})).toMatchObject({ kind: "put", entry: { revision: 1 } });
    });

    it("accepts the deletion of an entry that does not exist [DLV-9]", async ({ scene }) => {
      const outcome = await scene.unchanged(() => put(scene, { value: undefined }));
      expect(outcome).toEqual({ kind: "put", entry: undefined });
    });

    it("accepts one of several concurrent changes, and returns it to the others [DLV-9]", async ({
      scene,
    }) => {
      const outcomes = await Promise.all(["1", "2", "3"].map((value) => put(scene, { value })));
      const kinds = outcomes.map(({ kind }) => kind);
      expect(kinds.toSorted()).toEqual(["changed", "changed", "put"]);
      const stored = await scene.store.findEntry(scene.workspace, "key", "k");
      expect(stored?.value).toBe(String(kinds.indexOf("put") + 1));
      expect(outcomes.map(({ entry }) => entry)).toEqual([stored, stored, stored]);
    });

    it("keeps kinds, names and workspaces apart [DLV-9]", async ({ scene }) => {
      const { store, workspace } = scene;
      const others = [
        await put(scene, { kind: "route" }),
        await put(scene, { name: "K" }),
        await put(scene, { name: "k " }),
        await put(scene, {}, ELSEWHERE),
      ];
      expect(others.map(({ kind }) => kind)).toEqual(others.map(() => "put"));
      expect(await store.findEntry(workspace, "key", "k")).toBeUndefined();
      expect(await put(scene, { value: "mine" })).toMatchObject({ kind: "put" });
      for (const [kind, name, where] of [
        ["route", "k", workspace],
        ["key", "K", workspace],
        ["key", "k", ELSEWHERE],
      ] as const) {
        expect(await store.findEntry(where, kind, name)).toMatchObject({ value: "1" });
      }
    });

    it("lists names in code point order, by kind and prefix [DLV-9]", async ({ scene }) => {
      const names = ["b", "a", "a/2", "a/10", "B", "a%", "a_", "ab", "é", "z", "😀", "～"];
      for (const name of names) await put(scene, { name });
      await put(scene, { kind: "route", name: "a/1" });
      await put(scene, { name: "a/1" }, ELSEWHERE);
      const sorted = ["B", "a", "a%", "a/10", "a/2", "a_", "ab", "b", "z", "é", "～", "😀"];
      expect(await list(scene)).toEqual(sorted);
      expect(await list(scene, { prefix: "" })).toEqual(sorted);
      expect(await list(scene, { prefix: "a" })).toEqual(sorted.slice(1, 7));
      expect(await list(scene, { prefix: "a/" })).toEqual(["a/10", "a/2"]);
      expect(await list(scene, { prefix: "a%" })).toEqual(["a%"]);
      expect(await list(scene, { prefix: "a_" })).toEqual(["a_"]);
      expect(await list(scene, { prefix: "é" })).toEqual(["é"]);
      expect(await list(scene, { prefix: "😀" })).toEqual(["😀"]);
      expect(await list(scene, { after: "é" })).toEqual(["～", "😀"]);
      expect(await list(scene, { prefix: "c" })).toEqual([]);
      expect(await list(scene, { kind: "route" })).toEqual(["a/1"]);
      expect(await list(scene, { kind: "none" })).toEqual([]);
    });

    it("lists entries page by page, each page after the last name [DLV-9]", async ({ scene }) => {
      const names = Array.from({ length: 7 }, (_, i) => `n/${i}`);
      for (const name of ["m", ...names, "o"]) await put(scene, { name });
      const pages: string[][] = [];
      let after = "";
      for (let i = 0; i < 4; i++) {
        const page = await list(scene, { prefix: "n/", limit: 3, after });
        pages.push(page);
        after = page.at(-1) ?? after;
      }
      expect(pages).toEqual([names.slice(0, 3), names.slice(3, 6), names.slice(6), []]);
      expect(await list(scene, { after: "n/5" })).toEqual(["n/6", "o"]);
      expect(await list(scene, { after: "n/55" })).toEqual(["n/6", "o"]);
    });

    it("writes the given event only when the entry is put [DLV-12]", async ({ scene }) => {
      const { store, workspace } = scene;
      const entry = { kind: "breaker", name: "ben", value: "1", basedOn: 0 };
      const event = { kind: "breaker_opened", agent: "ada" } as const;
      expectOutcome(await store.putEntry(workspace, entry, event), "put");
      expectOutcome(await store.putEntry(workspace, entry, event), "changed");
      expectOutcome(await store.putEntry(workspace, { ...entry, basedOn: 1 }), "put");
      expect(await store.readEvents(workspace, 0, 10)).toEqual([
        {
          number: expect.any(Number),
          at: scene.now,
          kind: "breaker_opened",
          agent: "ada",
          task: "",
          delivery: "",
          envelope: "",
          attempt: 0,
        },
      ]);
    });
  });

  describe("entries of a handoff", () => {
    it("stores the entry and the handoff together, or neither [DLV-9]", async ({ scene }) => {
      const { store, workspace } = scene;
      const entry = { kind: "key", name: "k", value: '"digest"', basedOn: 0 };
      await scene.send({ entries: [entry] });
      expect(await store.findEntry(workspace, "key", "k")).toMatchObject({
        value: '"digest"',
        revision: 1,
        at: scene.now,
      });
      const another = { ...entry, value: '"another"' };
      const twice = scene.handoff({ task: "other", entries: [another] });
      const outcome = await scene.unchanged(() => store.sendHandoff(twice));
      expect(outcome).toEqual({
        kind: "entry_changed",
        entry: await store.findEntry(workspace, "key", "k"),
      });
      const refused = scene.handoff({ to: "nobody", entries: [{ ...entry, name: "l" }] });
      await scene.unchanged(() => store.sendHandoff(refused));
      expect(await store.findEntry(workspace, "key", "l")).toBeUndefined();
    });

    it("sends one of two concurrent handoffs with the same key [DLV-9]", async ({ scene }) => {
      const entry = { kind: "key", name: "k", value: "1", basedOn: 0 };
      const outcomes = await Promise.all(
        ["one", "two"].map((task) =>
          scene.store.sendHandoff(scene.handoff({ task, entries: [entry] })),
        ),
      );
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["entry_changed", "sent"]);
      expect(await scene.totals()).toEqual({ ready: 1 });
    });

    it("reports a used key before open work, so that a repeat is recognized [DLV-9]", async ({
      scene,
    }) => {
      const entry = { kind: "key", name: "k", value: "1", basedOn: 0 };
      await scene.send({ entries: [entry] });
      const outcome = await scene.store.sendHandoff(scene.handoff({ entries: [entry] }));
      expect(outcome).toMatchObject({ kind: "entry_changed", entry: { value: "1" } });
    });

    it("requires the current revision of an existing key [DLV-9]", async ({ scene }) => {
      await scene.put("key", "k", "1");
      const entry = { kind: "key", name: "k", value: "2", basedOn: 2 };
      const early = await scene.store.sendHandoff(scene.handoff({ entries: [entry] }));
      expect(early).toMatchObject({ kind: "entry_changed", entry: { revision: 1 } });
      await scene.send({ entries: [{ ...entry, basedOn: 1 }] });
      expect(await scene.store.findEntry(scene.workspace, "key", "k")).toMatchObject({
        value: "2",
        revision: 2,
      });
    });

    it("stores the entry of an extension of waiting or held work [DLV-9]", async ({ scene }) => {
      const key = (name: string) => ({ kind: "key", name, value: "1", basedOn: 0 });
      const first = await scene.send();
      const second = await scene.send({ extend: scene.extending(first), entries: [key("a")] });
      await scene.claimOne("ben");
      const held = await scene.deliveryNow(second.delivery.id);
      await scene.send({ extend: scene.extending({ delivery: held }), entries: [key("b")] });
      expect(await list(scene)).toEqual(["a", "b"]);
    });

    it("stores all entries or none, and returns the first that has changed [DLV-9 ENV-10]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const key = { kind: "key", name: "k", value: "1", basedOn: 0 };
      const ledger = { kind: "ledger", name: "task", value: '"a"', basedOn: 0 };
      await scene.send({ entries: [key, ledger] });
      const found = await store.findEntry(workspace, "ledger", "task");
      expect(found).toMatchObject({ value: '"a"', revision: 1, at: scene.now });
      expect(await store.findEntry(workspace, "key", "k")).toMatchObject({ revision: 1 });
      const late = (entries: readonly PutEntry[]) => () =>
        store.sendHandoff(scene.handoff({ task: "other", entries }));
      const other = { ...key, name: "l" };
      for (const entries of [
        [other, ledger],
        [ledger, other],
        [ledger, key],
      ]) {
        const outcome = await scene.unchanged(late(entries));
        expect(outcome).toEqual({ kind: "entry_changed", entry: found });
      }
      const gone = await scene.unchanged(late([{ ...other, basedOn: 3 }, ledger]));
      expect(gone).toEqual({ kind: "entry_changed", entry: undefined });
      await scene.send({
        task: "other",
        entries: [other, { ...ledger, value: '"b"', basedOn: 1 }],
      });
      expect(await list(scene)).toEqual(["k", "l"]);
      expect(await store.findEntry(workspace, "ledger", "task")).toMatchObject({
        value: '"b"',
        revision: 2,
      });
    });

    it("sends one of several concurrent handoffs that change the same entry [ENV-10]", async ({
      scene,
    }) => {
      const { store, workspace } = scene;
      const ledger = (value: string) => ({ kind: "ledger", name: "task", value, basedOn: 0 });
      const key = (name: string) => ({ kind: "key", name, value: "1", basedOn: 0 });
      const outcomes = await Promise.all(
        ["1", "2", "3"].map((value) =>
          store.sendHandoff(
            scene.handoff({ task: `line-${value}`, entries: [key(value), ledger(value)] }),
          ),
        ),
      );
      const kinds = outcomes.map(({ kind }) => kind);
      expect(kinds.toSorted()).toEqual(["entry_changed", "entry_changed", "sent"]);
      const kept = `${kinds.indexOf("sent") + 1}`;
      expect(await store.findEntry(workspace, "ledger", "task")).toMatchObject({ value: kept });
      expect(await list(scene)).toEqual([kept]);
    });
  });
}

function put({ store, workspace }: Scene, change: Partial<PutEntry>, where = workspace) {
  return store.putEntry(where, { kind: "key", name: "k", value: "1", basedOn: 0, ...change });
}

async function list(
  { store, workspace }: Scene,
  change: { kind?: string; prefix?: string; after?: string; limit?: number } = {},
): Promise<string[]> {
  const found = await store.listEntries({ workspace, kind: "key", limit: 100, ...change });
  return found.map(({ name }) => name);
}
