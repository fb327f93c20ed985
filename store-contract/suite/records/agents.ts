/**
 * Tests of the agent registry: registering and changing agents by revision, finding them by id or
 * alias, unique names per workspace, and the time at which a public key was registered.
 */
import { describe, expect } from "vitest";
import { generateKey, signerOf } from "../../../src/base/signing-keys.ts";
import { agentDigest, type NewMemory } from "../../../src/store/rows.ts";
import { expectOutcome } from "../expectations.ts";
import type { Scene, SceneTest } from "../scene.ts";

const ELSEWHERE = "elsewhere";

export function agents(it: SceneTest): void {
  describe("agents", () => {
    it("finds an agent by its id as it was registered [MEM-4]", async ({ scene }) => {
      const { store, workspace } = scene;
      const agent = scene.registration("dot", {
        role: "reviewer",
        aliases: ["d", "dotty"],
        profile: '{"model":"m"}',
      });
      const outcome = await store.registerAgent({ workspace, agent, basedOn: 0 });
      const registered = expectOutcome(outcome, "registered").agent;
      const expected = { ...agent, keyedAt: 0, revision: 1 };
      expect(registered).toEqual({ ...expected, digest: agentDigest(expected) });
      expect(await store.findAgent(workspace, "dot")).toEqual(registered);
    });

    it("finds no agent by a name that was not registered [MEM-4]", async ({ scene }) => {
      expect(await scene.store.findAgent(scene.workspace, "nobody")).toBeUndefined();
      expect(await scene.store.findAgent(ELSEWHERE, "ada")).toBeUndefined();
    });

    it("increments the revision with a change, which is visible at once [MEM-4]", async ({
      scene,
    }) => {
      const changed = await scene.register("ada", { status: "disabled", role: "lead" });
      expect(changed).toMatchObject({ revision: 2, status: "disabled", role: "lead" });
      expect(await scene.store.findAgent(scene.workspace, "ada")).toEqual(changed);
    });

    it.for<[string, string, number]>([
      ["revision 0 of an existing agent", "ada", 0],
      ["an older revision", "ada", 1],
      ["a later revision", "ada", 3],
      ["an unknown agent", "nobody", 1],
    ])(
      "returns `changed` for a change based on %s, and changes nothing [MEM-4]",
      async ([_case, id, basedOn], { scene }) => {
        await scene.register("ada", { role: "lead" });
        const agent = scene.registration(id, { role: "other" });
        const outcome = await scene.unchanged(() =>
          scene.store.registerAgent({ workspace: scene.workspace, agent, basedOn }),
        );
        expect(outcome).toEqual({ kind: "changed" });
      },
    );

    it("accepts one of two concurrent changes and refuses the other [MEM-4]", async ({ scene }) => {
      const { store, workspace } = scene;
      const roles = ["lead", "other"] as const;
      const outcomes = await Promise.all(
        roles.map((role) =>
          store.registerAgent({
            workspace,
            agent: scene.registration("ada", { role }),
            basedOn: 1,
          }),
        ),
      );
      const kinds = outcomes.map((outcome) => outcome.kind);
      expect(kinds.toSorted()).toEqual(["changed", "registered"]);
      const role = roles[kinds.indexOf("registered")];
      expect(await store.findAgent(workspace, "ada")).toMatchObject({ role, revision: 2 });
    });

    it("finds an agent by its aliases [MEM-4]", async ({ scene }) => {
      const agent = await scene.register("dot", { aliases: ["d", "dotty"] });
      for (const name of ["dot", "d", "dotty"]) {
        expect(await scene.store.findAgent(scene.workspace, name)).toEqual(agent);
      }
    });

    it.for<[string, "alias" | "id", string]>([
      ["an alias that is another agent's id", "alias", "ada"],
      ["an id that is another agent's alias", "id", "a"],
      ["an alias that is another agent's alias", "alias", "a"],
    ])("refuses %s [MEM-4]", async ([_case, as, name], { scene }) => {
      await scene.register("ada", { aliases: ["a"] });
      const agent =
        as === "id"
          ? scene.registration(name)
          : scene.registration("dot", { aliases: ["x", name] });
      const outcome = await scene.unchanged(() =>
        scene.store.registerAgent({ workspace: scene.workspace, agent, basedOn: 0 }),
      );
      expect(outcome).toEqual({ kind: "name_taken", name, by: "ada" });
      expect(await scene.store.findAgent(scene.workspace, "x")).toBeUndefined();
    });

    it("frees an alias when its agent drops it [MEM-4]", async ({ scene }) => {
      await scene.register("ada", { aliases: ["a", "b"] });
      await scene.register("ada", { aliases: ["b"] });
      expect(await scene.store.findAgent(scene.workspace, "a")).toBeUndefined();
      await scene.register("dot", { aliases: ["a"] });
      expect(await scene.store.findAgent(scene.workspace, "a")).toMatchObject({ id: "dot" });
    });

    it("resolves the same name to another agent in another workspace [MEM-4]", async ({
      scene,
    }) => {
      await scene.register("ada", { role: "here" });
      await scene.register("zoe", { role: "there", aliases: ["ada"] }, ELSEWHERE);
      expect(await scene.store.findAgent(ELSEWHERE, "ada")).toMatchObject({ id: "zoe" });
      expect(await scene.store.findAgent(scene.workspace, "ada")).toMatchObject({ role: "here" });
      expect(await scene.store.findAgent(scene.workspace, "zoe")).toBeUndefined();
    });

    it("sets the time of a key when it is registered, not with other changes [MEM-5]", async ({
      scene,
    }) => {
      const [first, second] = [signerOf(generateKey()), signerOf(generateKey())];
      scene.clock.advance(10);
      const keyed = await scene.register("ada", { publicKey: first.publicKey });
      expect(keyed).toMatchObject({ publicKey: first.publicKey, keyedAt: scene.now });
      scene.clock.advance(10);
      expect(await scene.register("ada", { role: "lead" })).toMatchObject({
        keyedAt: keyed.keyedAt,
      });
      expect(await scene.register("ada", { publicKey: second.publicKey })).toMatchObject({
        keyedAt: scene.now,
      });
    });

    it("appends the record of a change in the same operation [OPS-13]", async ({ scene }) => {
      const { store, workspace } = scene;
      const branch = scene.useBranch("log");
      const registered = [
        // The author registers itself, then records the change of another agent.
        { agent: scene.registration("dot"), memory: scene.record("dot", "dot was registered") },
        { agent: scene.registration("eve"), memory: scene.record("dot", "eve was registered") },
      ];
      for (const { agent, memory } of registered) {
        const records = [{ branch, memory }];
        const outcome = await store.registerAgent({ workspace, agent, basedOn: 0, records });
        expectOutcome(outcome, "registered");
      }
      const ids = registered.map(({ memory }) => memory.id);
      expect(await store.readMemories(workspace, ids)).toMatchObject([
        { id: ids[0], branch, seq: 1 },
        { id: ids[1], branch, seq: 2 },
      ]);
    });

    it.for<[string, (scene: Scene, taken: NewMemory) => NewMemory, object]>([
      [
        "an unknown author",
        (scene) => scene.record("nobody"),
        { kind: "unknown_agent", agent: "nobody" },
      ],
      [
        "a disabled author",
        (scene) => scene.record("cyd"),
        { kind: "agent_disabled", agent: "cyd" },
      ],
      [
        "an unsigned author that gets a key",
        (scene) => scene.record("ada"),
        { kind: "key_changed", agent: "ada" },
      ],
      ["an id that is taken", (_scene, taken) => taken, { kind: "id_taken" }],
    ])(
      "changes nothing if the record of the change has %s [OPS-13]",
      async ([_case, recordOf, refused], { scene }) => {
        const { store, workspace } = scene;
        await scene.register("cyd", { status: "disabled" });
        const branch = scene.useBranch("log");
        const taken = scene.record("ben");
        await scene.remember([taken]);
        const { publicKey } = signerOf(generateKey());
        const outcome = await scene.unchanged(() =>
          store.registerAgent({
            workspace,
            agent: scene.registration("ada", { publicKey }),
            basedOn: 1,
            records: [{ branch, memory: recordOf(scene, taken) }],
          }),
        );
        expect(outcome).toMatchObject(refused);
      },
    );

    it("appends no record of a change that is refused [OPS-13]", async ({ scene }) => {
      const { store, workspace } = scene;
      const records = [{ branch: scene.useBranch("log"), memory: scene.record("ben") }];
      for (const [agent, basedOn, kind] of [
        [scene.registration("ada"), 0, "changed"],
        [scene.registration("dot", { aliases: ["ada"] }), 0, "name_taken"],
      ] as const) {
        const outcome = await scene.unchanged(() =>
          store.registerAgent({ workspace, agent, basedOn, records }),
        );
        expect(outcome).toMatchObject({ kind });
      }
    });

    it("lists the agents of one workspace by id [MEM-4]", async ({ scene }) => {
      await scene.register("Zed", {}, ELSEWHERE);
      await scene.register("Abe", { aliases: ["zzz"] });
      const ids = async (workspace: string) =>
        (await scene.store.listAgents(workspace)).map((agent) => agent.id);
      expect(await ids(scene.workspace)).toEqual(["Abe", "ada", "ben", "cyd"]);
      expect(await ids(ELSEWHERE)).toEqual(["Zed"]);
      expect(await ids("nowhere")).toEqual([]);
    });
  });
}
