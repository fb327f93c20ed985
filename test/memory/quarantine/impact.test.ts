/** Tests the impact of a memory: everything derived from it, and which agents saw any of it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Agent,
  type MemoryInput,
  RELATION_KINDS,
  type RelationKind,
} from "../../../src/index.ts";
import { openFresh, openTwo, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";
import { chosenSeed } from "../../support/random.ts";
import { runs } from "../../support/runs.ts";

/** The relation kinds by which one record derives from another, listed independently of src. */
const DERIVATIONS = new Set<string>([
  ...["derived-from", "references", "continues-from", "summarizes", "supports", "caused-by"],
]);

describe.each(STORES)("the impact of a memory on %s", (store) => {
  async function team() {
    const hub = await openFresh(store);
    const [ada, ben, cyd] = await Promise.all(
      ["ada", "ben", "cyd"].map((name) => hub.agent(name, {})),
    );
    if (!ada || !ben || !cyd) throw new Error("no team");
    return { hub, ada, ben, cyd };
  }

  const onto = (kind: RelationKind, to: string): MemoryInput => ({
    content: `${kind} ${to}`,
    relations: [{ kind, to }],
  });

  it("follows references and every deriving relation kind, and no others [MEM-16]", async () => {
    const { hub, ada } = await team();
    const { id } = await ada.remember({ content: "poison" });
    const expected = [];
    for (const kind of RELATION_KINDS) {
      const written = await ada.remember(onto(kind, id));
      if (DERIVATIONS.has(kind)) expected.push([written.id, kind, 1]);
    }
    const named = await ada.remember({ content: "see", refs: [id] });
    expected.push([named.id, "references", 1]);
    const far = await ada.remember({ content: "further", refs: [named.id] });
    expected.push([far.id, "references", 2]);
    const { downstream, more, hidden } = await hub.memories.impact(id);
    expect(downstream.map((each) => [each.id, each.via.kind, each.depth])).toEqual(expected);
    expect(downstream.at(-1)?.via.memory).toBe(named.id);
    expect({ more, hidden }).toEqual({ more: false, hidden: 0 });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("equals the transitive closure of random graphs [MEM-16]", {
    timeout: runs(120_000),
  }, async () => {
    const { hub, ada } = await team();
    const edge = fc.record({
      kind: fc.constantFrom<RelationKind | "ref">(...RELATION_KINDS, "ref"),
      back: fc.nat(),
    });
    const graph = fc.array(fc.array(edge, { maxLength: 3 }), { minLength: 1, maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(graph, fc.nat(), async (nodes, chosen) => {
        const { ids, edges } = await write(ada, nodes);
        const root = ids[chosen % ids.length] ?? "";
        const found = await hub.memories.impact(root);
        const depths = closure(root, edges);
        expect(new Map(found.downstream.map(({ id, depth }) => [id, depth]))).toEqual(depths);
        expect(found.downstream).toHaveLength(depths.size);
        for (const { id, depth, via } of found.downstream) {
          const from = present(via.memory);
          expect(from === root ? 0 : depths.get(from)).toBe(depth - 1);
          const said = [...(edges.get(from) ?? [])];
          expect(said).toContainEqual([id, via.kind]);
        }
      }),
      { seed: chosenSeed(), numRuns: runs(store === "postgres" ? 10 : 25) },
    );
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("lists handoffs that carried it, their state, and agents that saw it [MEM-16]", async () => {
    const { hub, ada, ben, cyd } = await team();
    const { id } = await ada.remember({ content: "poison", task: "t" });
    const waits = await ada.handoff({ to: "cyd", task: "waits", intent: "Go", refs: [id] });
    await ada.handoff({ to: "ben", task: "t", intent: "Go", refs: [id] });
    const work = await take(ben, { task: "t" });
    const noted = await work.note("found");
    const on = await work.handoff({ to: "cyd" });
    const { downstream, deliveries, agents, envelopes } = await hub.memories.impact(id);
    expect(downstream.map((each) => each.id)).toEqual(
      expect.arrayContaining([waits.memory, work.delivery.acceptedBy, noted.memory.id, on.memory]),
    );
    expect(deliveries.map(({ id: of, state, open }) => [of, state, open])).toEqual([
      [waits.id, "ready", true],
      [work.id, "completed", false],
      [on.id, "ready", true],
    ]);
    expect(envelopes).toEqual([waits.envelope.id, work.envelope.id, on.envelope.id]);
    expect(agents).toEqual([
      { agent: "ada", ways: ["wrote"] },
      { agent: "ben", ways: ["accepted", "wrote"] },
    ]);
    await take(cyd, { task: "waits" });
    expect((await hub.memories.impact(id)).agents).toContainEqual({
      agent: "cyd",
      ways: ["accepted"],
    });
  });

  it("includes an agent that only claimed and released an offer [MEM-16]", async () => {
    const { hub, ada, ben } = await team();
    const { id } = await ada.remember({ content: "poison" });
    await ada.handoff({ to: "ben", task: "t", intent: "Go", refs: [id] });
    for await (const offer of ben.inbox({ wait: false })) {
      await offer.release();
      break;
    }
    expect((await hub.memories.impact(id)).agents).toContainEqual({
      agent: "ben",
      ways: ["claimed"],
    });
  });

  it("counts records hidden from the reader, and continues beyond them [MEM-16]", async () => {
    const { hub, ada, ben } = await team();
    const { id } = await ada.remember({ content: "poison" });
    const secret = await ben.remember({ content: "now", scope: "session", refs: [id] });
    const kept = await ben.remember({ content: "mine", scope: "agent", refs: [secret.id] });
    const seen = await (await hub.agent("ben")).memories.impact(id);
    expect(seen.hidden, "of another session of the same agent").toBe(1);
    expect(seen.downstream).toMatchObject([{ id: kept.id, depth: 2 }]);
    expect(seen.downstream[0]?.via).not.toHaveProperty("memory");
    expect(JSON.stringify(seen.downstream)).not.toContain(secret.id);
    expect(await ada.memories.impact(id)).toMatchObject({ hidden: 2, downstream: [] });
    expect(await hub.memories.impact(id)).toMatchObject({ hidden: 2, downstream: [] });
    const own = await ben.memories.impact(id);
    expect(own.hidden).toBe(0);
    expect(own.downstream.map((each) => each.id)).toEqual([secret.id, kept.id]);
    expect(await refusal(ada.memories.impact(secret.id))).toMatchObject({ code: "unknown_memory" });
  });

  it("reports where a limit cut it off, and can continue from there [MEM-16]", async () => {
    const { hub, ada } = await team();
    const chain = [(await ada.remember({ content: "0" })).id];
    for (let n = 1; n < 6; n++) {
      chain.push((await ada.remember({ content: `${n}`, refs: [chain.at(-1) ?? ""] })).id);
    }
    const [root = ""] = chain;
    const short = await hub.memories.impact(root, { depth: 2 });
    expect(short.downstream.map(({ id }) => id)).toEqual(chain.slice(1, 3));
    expect(short).toMatchObject({ more: true, cut: [{ memory: chain[2], why: "depth" }] });
    const rest = await hub.memories.impact(short.cut[0]?.memory ?? "");
    expect(rest.downstream.map(({ id }) => id)).toEqual(chain.slice(3));
    expect(rest).toMatchObject({ more: false, cut: [] });
    const few = await hub.memories.impact(root, { limit: 3 });
    expect(few.downstream).toHaveLength(3);
    expect(few).toMatchObject({ more: true, cut: [{ memory: chain[3], why: "limit" }] });
    expect(await hub.memories.impact(root, { limit: 5, depth: 5 })).toMatchObject({ more: false });
  });

  it("finds more records than one store query returns [MEM-16]", async () => {
    const { hub, ada } = await team();
    const { id } = await ada.remember({ content: "poison" });
    const many = Array.from({ length: 700 }, (_, n) => ({
      content: `${n}`,
      relations: [
        { kind: "supports" as const, to: id },
        { kind: "derived-from" as const, to: id },
      ],
    }));
    await ada.remember(many);
    expect((await hub.memories.impact(id)).downstream).toHaveLength(700);
    const few = await hub.memories.impact(id, { limit: 650 });
    expect(few.downstream).toHaveLength(650);
    expect(few).toMatchObject({ more: true, cut: [{ memory: id, why: "limit" }] });
  });

  it("refuses values above its limits, unknown options and invalid ids [MEM-16]", async () => {
    const [hub] = await openTwo(store, { limits: { impactVisits: 10, impactDepth: 5 } });
    const ada = await hub.agent("ada", {});
    const { id } = await ada.remember({ content: "x" });
    expect(await refusal(hub.memories.impact(id, { limit: 11 }))).toMatchObject({
      code: "limit_exceeded",
      details: { limit: "impactVisits" },
    });
    expect(await refusal(hub.memories.impact(id, { depth: 6 }))).toMatchObject({
      details: { limit: "impactDepth" },
    });
    expect(await refusal(hub.memories.impact(id, { depht: 1 } as never))).toMatchObject({
      code: "invalid_input",
    });
    expect(await refusal(hub.memories.impact("nonsense"))).toMatchObject({ path: "id" });
  });
});

interface Edge {
  readonly kind: RelationKind | "ref";
  readonly back: number;
}

/** Writes records with edges to earlier ones; returns their ids, and the edges by target. */
async function write(author: Agent, nodes: readonly (readonly Edge[])[]) {
  const ids: string[] = [];
  const edges = new Map<string, [string, string][]>();
  for (const [n, wanted] of nodes.entries()) {
    const named =
      n === 0 ? [] : wanted.map(({ kind, back }) => ({ kind, to: ids[back % n] ?? "" }));
    const { id } = await author.remember({
      content: `node ${n}`,
      refs: named.filter(({ kind }) => kind === "ref").map(({ to }) => to),
      relations: named.flatMap(({ kind, to }) => (kind === "ref" ? [] : [{ kind, to }])),
    });
    ids.push(id);
    for (const { kind, to } of named) {
      const said = kind === "ref" ? "references" : kind;
      edges.set(to, [...(edges.get(to) ?? []), [id, said]]);
    }
  }
  return { ids, edges };
}

/** Returns the distance of each derived record from the root, relaxing until nothing changes. */
function closure(root: string, edges: ReadonlyMap<string, [string, string][]>) {
  const depths = new Map([[root, 0]]);
  for (let changed = true; changed; ) {
    changed = false;
    for (const [target, sources] of edges) {
      const near = depths.get(target);
      if (near === undefined) continue;
      for (const [source, kind] of sources) {
        if (!DERIVATIONS.has(kind) || (depths.get(source) ?? Number.POSITIVE_INFINITY) <= near + 1)
          continue;
        depths.set(source, near + 1);
        changed = true;
      }
    }
  }
  depths.delete(root);
  return depths;
}
