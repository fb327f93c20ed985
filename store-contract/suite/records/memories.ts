/** Appending: all or none, checked inside the write, each record in its place on the chain. */
import { describe, expect } from "vitest";
import { generateKey, signerOf } from "../../../src/base/signing-keys.ts";
import { genesis, nextLink } from "../../../src/store/chain.ts";
import type { NewMemory } from "../../../src/store/rows.ts";
import { expectOutcome, expectSingle } from "../expectations.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = { workspace: "elsewhere" };
const UNKNOWN_MEMORY = "mem_00000000-0000-7000-8000-000000000000";

/** Why a record is refused: how to make one, and what the store says of it. */
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
    "signed with another key than the agent's",
    "key_changed",
    async (scene) => {
      await scene.register("dot", { publicKey: signerOf(generateKey()).publicKey });
      return scene.record("dot", "a fact", signerOf(generateKey()));
    },
  ],
  [
    "signed by an agent that has no key",
    "key_changed",
    async (scene) => scene.record("ada", "a fact", signerOf(generateKey())),
  ],
  [
    "that refers to nothing",
    "missing_reference",
    async (scene) => scene.record("ada", { content: "see there", refs: [UNKNOWN_MEMORY] }),
  ],
  [
    "related to nothing",
    "missing_reference",
    async (scene) =>
      scene.record("ada", { content: "so", relations: [{ kind: "supports", to: UNKNOWN_MEMORY }] }),
  ],
  [
    "that refers to a record of another workspace",
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
  describe("memories", () => {
    it("a record is read back as it was written, in its place [MEM-1]", async ({ scene }) => {
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

    it("each link follows from the one before, and the first from the chain's name [MEM-1]", async ({
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

    it("time never runs backwards along a chain, whatever the clock does [MEM-1]", async ({
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

    it("every branch and workspace counts its records without a gap [MEM-1]", async ({ scene }) => {
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

    it("writes of the same turn follow one another [MEM-1]", async ({ scene }) => {
      const writes = Array.from({ length: 20 }, () => scene.remember([scene.record("ada")]));
      const places = (await Promise.all(writes)).map(expectSingle);
      expect(places.map((place) => place.seq)).toEqual(places.map((_, i) => i + 1));
    });

    it("a registration in the same turn disturbs no record beside it [MEM-1]", async ({
      scene,
    }) => {
      await Promise.all([
        scene.remember([scene.record("ada", "before")]),
        scene.register("dot"),
        scene.remember([scene.record("ada", "after")]),
        scene.register("eve"),
      ]);
      expect(expectSingle(await scene.remember([scene.record("dot", "then")])).seq).toBe(3);
    });

    it("a list is stored in its order, and may refer back within itself [MEM-1]", async ({
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

    it("an empty list is stored as nothing", async ({ scene }) => {
      expect(await scene.append([])).toEqual({ kind: "appended", places: [], envelope: "" });
      expect(await scene.everything()).toEqual([]);
    });

    it.for(REFUSED)(
      "a record %s is refused with %s, and nothing is stored [MEM-4]",
      async ([_case, kind, make], { scene }) => {
        const record = await make(scene);
        const outcome = await scene.unchanged(() => scene.append(record));
        expect(outcome).toMatchObject({ kind });
      },
    );

    it.for(REFUSED)(
      "a list with a record %s is refused as a whole [MEM-4]",
      async ([_case, kind, make], { scene }) => {
        const bad = await make(scene);
        const good = scene.record("ada", "good");
        const outcome = await scene.unchanged(() => scene.append([good, bad]));
        expect(outcome).toMatchObject({ kind });
        const before = (await scene.everything()).length;
        expect(expectSingle(await scene.remember([good])).seq).toBe(before + 1);
      },
    );

    it("a refusal names who or what is at fault [MEM-4]", async ({ scene }) => {
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

    it("a record of a list cannot refer to a later one [MEM-1]", async ({ scene }) => {
      const later = scene.record("ada", "later");
      const earlier = scene.record("ada", { content: "earlier", refs: [later.id] });
      const outcome = await scene.unchanged(() => scene.append([earlier, later]));
      expect(outcome).toEqual({
        kind: "missing_reference",
        memory: earlier.id,
        reference: later.id,
      });
    });

    it("two records of one list cannot have the same id", async ({ scene }) => {
      const record = scene.record("ada");
      const outcome = await scene.unchanged(() => scene.append([record, record]));
      expect(outcome).toEqual({ kind: "id_taken", id: record.id });
    });

    it("an alias is no author: records carry the canonical id [MEM-4]", async ({ scene }) => {
      await scene.register("ada", { aliases: ["a"] });
      const outcome = await scene.unchanged(() => scene.append(scene.record("a")));
      expect(outcome).toEqual({ kind: "unknown_agent", agent: "a" });
    });

    it("an agent that was enabled again writes again [MEM-4]", async ({ scene }) => {
      await scene.register("ada", { status: "disabled" });
      expectOutcome(await scene.append(scene.record("ada")), "agent_disabled");
      await scene.register("ada", { status: "active" });
      expectOutcome(await scene.append(scene.record("ada")), "appended");
    });

    it.for([
      ["in the same millisecond", 0],
      ["though the clock went back since", -1_000],
    ] as const)(
      "what was written before its author had a key still verifies, %s [MEM-5]",
      async ([, ms], { scene }) => {
        const signer = signerOf(generateKey());
        await scene.remember([scene.record("ada", "unsigned")]);
        scene.clock.advance(ms);
        await scene.register("ada", { publicKey: signer.publicKey });
        await scene.remember([scene.record("ada", "signed", signer)]);
        expect((await scene.store.verify(scene.workspace)).problems).toEqual([]);
      },
    );

    it("records are read in the order asked for, without those that do not exist", async ({
      scene,
    }) => {
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

    it("an id that is taken in another workspace is free in this one", async ({ scene }) => {
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

    it("a record cannot be read from another workspace", async ({ scene }) => {
      const { id } = expectSingle(await scene.remember([scene.record("ada")]));
      expect(await scene.store.readMemories(ELSEWHERE.workspace, [id])).toEqual([]);
      await scene.register("ada", {}, ELSEWHERE.workspace);
      expect(await scene.store.readMemories(ELSEWHERE.workspace, [id])).toEqual([]);
    });

    it("what was acknowledged is there after reopening, and the chain goes on [MEM-13]", async ({
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
