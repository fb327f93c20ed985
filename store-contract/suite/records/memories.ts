/**
 * Tests of `appendMemories()`: memories are checked inside the write and stored in their place on
 * the chain, all or none.
 */
import { describe, expect } from "vitest";
import { generateKey, signerOf } from "../../../src/base/signing-keys.ts";
import { genesis, nextLink } from "../../../src/store/chain.ts";
import type { NewMemory } from "../../../src/store/rows.ts";
import { expectOutcome, expectSingle } from "../expectations.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = { workspace: "elsewhere" };
const UNKNOWN_MEMORY = "mem_00000000-0000-7000-8000-000000000000";

/** Memories that are refused, with the expected outcome. */
const REFUSED: readonly [string, string, (scene: Scene) => Promise<NewMemory>][] = [
  ["of an unknown agent", "unknown_agent", async (scene) => scene.record("nobody")],
  [
    "of a disabled agent",
    "agent_disabled",
    async (scene) => {
      await scene.register("dot", { status: "disabled" });
      return scene.record("dot");
    },
  ],
  [
    "that an agent with a key did not sign",
    "key_changed",
    async (scene) => {
      await scene.register("dot", { publicKey: signerOf(generateKey()).publicKey });
      return scene.record("dot");
    },
  ],
  [
    "signed with a key other than the agent's",
    "key_changed",
    async (scene) => {
      await scene.register("dot", { publicKey: signerOf(generateKey()).publicKey });
      return scene.record("dot", "a fact", signerOf(generateKey()));
    },
  ],
  [
    "signed by an agent without a key",
    "key_changed",
    async (scene) => scene.record("ada", "a fact", signerOf(generateKey())),
  ],
  [
    "with an unknown reference",
    "missing_reference",
    async (scene) => scene.record("ada", { content: "see there", refs: [UNKNOWN_MEMORY] }),
  ],
  [
    "with a relation to an unknown memory",
    "missing_reference",
    async (scene) =>
      scene.record("ada", { content: "so", relations: [{ kind: "supports", to: UNKNOWN_MEMORY }] }),
  ],
  [
    "that refers to a memory of another workspace",
    "missing_reference",
    async (scene) => {
      await scene.register("ada", {}, ELSEWHERE.workspace);
      const there = expectSingle(await scene.remember([scene.record("ada")], ELSEWHERE));
      return scene.record("ada", { content: "see there", refs: [there.id] });
    },
  ],
  [
    "that refers to itself",
    "missing_reference",
    async (scene) => {
      const id = scene.ids.mint("memory");
      return scene.record("ada", { id, content: "I am right", refs: [id] });
    },
  ],
  [
    "whose id is taken",
    "id_taken",
    async (scene) => {
      const { id } = expectSingle(await scene.remember([scene.record("ada")]));
      return scene.record("ada", { id, content: "another" });
    },
  ],
];

export function memories(it: SceneTest): void {
  describe("appending memories", () => {
    it("stores a memory as it was written, with its place on the chain [MEM-1]", async ({
      scene,
    }) => {
      const signer = signerOf(generateKey());
      scene.clock.advance(1);
      await scene.register("dot", { publicKey: signer.publicKey });
      scene.clock.advance(1);
      const input = { content: "Ünïcode\n\u{1f3c3}", task: "task", type: "decision", tags: ["x"] };
      const record = scene.record("dot", input, signer);
      const place = expectSingle(await scene.remember([record]));
      const { id, text, signature } = record;
      const { branch, store, workspace } = scene;
      const [row] = await store.readMemories(workspace, [id]);
      expect(row).toMatchObject({ ...place, branch, id, text, signature });
      expect(JSON.parse(text)).toMatchObject({ id, agent: "dot", ...input });
      expect(place).toMatchObject({ id, seq: 1, storedAt: scene.now });
    });

    it("derives each link from the one before, and the first from workspace and branch [MEM-1]", async ({
      scene,
    }) => {
      const records = ["one", "two", "three"].map((content) => scene.record("ada", content));
      const first = await scene.remember(records.slice(0, 2));
      scene.clock.advance(5);
      const places = [...first, ...(await scene.remember(records.slice(2)))];
      let link = genesis(scene.workspace, scene.branch);
      for (const [i, record] of records.entries()) {
        const place = places[i];
        expect(place).toMatchObject({ id: record.id, seq: i + 1 });
        link = nextLink(link, {
          seq: i + 1,
          storedAt: place?.storedAt ?? 0,
          digest: record.digest,
        });
        expect(place?.link).toBe(link);
      }
    });

    it("never decreases the time along a chain, even if the clock goes back [MEM-1]", async ({
      scene,
    }) => {
      const start = scene.now;
      const storedAt = async () =>
        expectSingle(await scene.remember([scene.record("ada")])).storedAt;
      expect(await storedAt()).toBe(start);
      scene.clock.set(start - 10_000);
      expect(await storedAt()).toBe(start);
      await scene.reopen();
      expect(await storedAt()).toBe(start);
      scene.clock.set(start + 1);
      expect(await storedAt()).toBe(start + 1);
    });

    it("numbers the memories of each branch and workspace without gaps [MEM-1]", async ({
      scene,
    }) => {
      await scene.register("ada", {}, ELSEWHERE.workspace);
      const chains = [{}, { branch: "side" }, ELSEWHERE];
      for (let round = 1; round <= 3; round++) {
        for (const where of chains) {
          const place = expectSingle(await scene.remember([scene.record("ada")], where));
          expect(place.seq).toBe(round);
        }
      }
      for (const where of chains) {
        const rows = await scene.everything(where);
        expect(rows.map((row) => row.seq)).toEqual([3, 2, 1]);
      }
    });

    it("numbers concurrent writes in sequence [MEM-1]", async ({ scene }) => {
      const writes = Array.from({ length: 20 }, () => scene.remember([scene.record("ada")]));
      const places = (await Promise.all(writes)).map(expectSingle);
      expect(places.map((place) => place.seq)).toEqual(places.map((_, i) => i + 1));
    });

    it("keeps the sequence when agents are registered concurrently [MEM-1]", async ({ scene }) => {
      await Promise.all([
        scene.remember([scene.record("ada", "before")]),
        scene.register("dot"),
        scene.remember([scene.record("ada", "after")]),
        scene.register("eve"),
      ]);
      expect(expectSingle(await scene.remember([scene.record("dot", "then")])).seq).toBe(3);
    });

    it("stores a list in order, with references to earlier memories of the list [MEM-1]", async ({
      scene,
    }) => {
      const first = scene.record("ada", "first");
      const second = scene.record("ada", {
        content: "second",
        refs: [first.id],
        relations: [{ kind: "supports", to: first.id }],
      });
      const places = await scene.remember([first, second]);
      expect(places.map((place) => [place.id, place.seq])).toEqual([
        [first.id, 1],
        [second.id, 2],
      ]);
    });

    it("accepts an empty list and stores nothing", async ({ scene }) => {
      expect(await scene.append([])).toEqual({ kind: "appended", places: [], envelope: "" });
      expect(await scene.everything()).toEqual([]);
    });

    it.for(REFUSED)(
      "refuses a memory %s (%s) and stores nothing [MEM-4]",
      async ([_case, kind, make], { scene }) => {
        const record = await make(scene);
        const outcome = await scene.unchanged(() => scene.append(record));
        expect(outcome).toMatchObject({ kind });
      },
    );

    it.for(REFUSED)(
      "refuses a list with a memory %s as a whole [MEM-4]",
      async ([_case, kind, make], { scene }) => {
        const bad = await make(scene);
        const good = scene.record("ada", "good");
        const outcome = await scene.unchanged(() => scene.append([good, bad]));
        expect(outcome).toMatchObject({ kind });
        const before = (await scene.everything()).length;
        expect(expectSingle(await scene.remember([good])).seq).toBe(before + 1);
      },
    );

    it("names the agent, reference or id in a refusal [MEM-4]", async ({ scene }) => {
      const lost = scene.record("ada", { content: "see there", refs: [UNKNOWN_MEMORY] });
      expect(await scene.append(scene.record("nobody"))).toEqual({
        kind: "unknown_agent",
        agent: "nobody",
      });
      expect(await scene.append(lost)).toEqual({
        kind: "missing_reference",
        memory: lost.id,
        reference: UNKNOWN_MEMORY,
      });
      const { id } = expectSingle(await scene.remember([scene.record("ada")]));
      const again = scene.record("ada", { id, content: "again" });
      expect(await scene.append(again)).toEqual({ kind: "id_taken", id });
    });

    it("refuses a reference to a later memory of the same list [MEM-1]", async ({ scene }) => {
      const later = scene.record("ada", "later");
      const earlier = scene.record("ada", { content: "earlier", refs: [later.id] });
      const outcome = await scene.unchanged(() => scene.append([earlier, later]));
      expect(outcome).toEqual({
        kind: "missing_reference",
        memory: earlier.id,
        reference: later.id,
      });
    });

    it("refuses two memories with the same id in one list", async ({ scene }) => {
      const record = scene.record("ada");
      const outcome = await scene.unchanged(() => scene.append([record, record]));
      expect(outcome).toEqual({ kind: "id_taken", id: record.id });
    });

    it("refuses an alias as the author [MEM-4]", async ({ scene }) => {
      await scene.register("ada", { aliases: ["a"] });
      const outcome = await scene.unchanged(() => scene.append(scene.record("a")));
      expect(outcome).toEqual({ kind: "unknown_agent", agent: "a" });
    });

    it("accepts memories of an agent that is enabled again [MEM-4]", async ({ scene }) => {
      await scene.register("ada", { status: "disabled" });
      expectOutcome(await scene.append(scene.record("ada")), "agent_disabled");
      await scene.register("ada", { status: "active" });
      expectOutcome(await scene.append(scene.record("ada")), "appended");
    });

    it.for([
      ["in the same millisecond", 0],
      ["even if the clock went back since", -1_000],
    ] as const)(
      "verifies memories from before their author had a key, %s [MEM-5]",
      async ([, ms], { scene }) => {
        const signer = signerOf(generateKey());
        await scene.remember([scene.record("ada", "unsigned")]);
        scene.clock.advance(ms);
        await scene.register("ada", { publicKey: signer.publicKey });
        await scene.remember([scene.record("ada", "signed", signer)]);
        expect((await scene.store.verify(scene.workspace)).problems).toEqual([]);
      },
    );

    it("reads memories in the given order and leaves out unknown ids", async ({ scene }) => {
      const places = await scene.remember([1, 2, 3].map((n) => scene.record("ada", `${n}`)));
      const [one, two, three] = places.map((place) => place.id) as [string, string, string];
      const rows = await scene.store.readMemories(scene.workspace, [
        three,
        UNKNOWN_MEMORY,
        one,
        two,
        one,
      ]);
      expect(rows.map((row) => row.id)).toEqual([three, one, two, one]);
    });

    it("accepts an id that exists in another workspace", async ({ scene }) => {
      await scene.register("ada", {}, ELSEWHERE.workspace);
      const there = scene.record("ada", "there");
      await scene.remember([there], ELSEWHERE);
      const here = scene.record("ada", { id: there.id, content: "here" });
      await scene.remember([here]);
      const texts = async (workspace: string) =>
        (await scene.store.readMemories(workspace, [there.id])).map((row) => row.text);
      expect(await texts(scene.workspace)).toEqual([here.text]);
      expect(await texts(ELSEWHERE.workspace)).toEqual([there.text]);
    });

    it("reads no memory of another workspace", async ({ scene }) => {
      const { id } = expectSingle(await scene.remember([scene.record("ada")]));
      expect(await scene.store.readMemories(ELSEWHERE.workspace, [id])).toEqual([]);
      await scene.register("ada", {}, ELSEWHERE.workspace);
      expect(await scene.store.readMemories(ELSEWHERE.workspace, [id])).toEqual([]);
    });

    it("keeps acknowledged memories after reopening, and continues the chain [MEM-13]", async ({
      scene,
    }) => {
      await scene.remember([scene.record("ada", "one"), scene.record("ada", "two")]);
      const before = await scene.everything();
      await scene.reopen();
      expect(await scene.everything()).toEqual(before);
      expect(expectSingle(await scene.remember([scene.record("ada", "three")])).seq).toBe(3);
    });
  });
}
