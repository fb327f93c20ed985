/** Tests recall among many records: visible ones are found behind any number of hidden ones. */
import { describe, expect, it } from "vitest";
import type { Agent, Hub, RecallQuery } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, STORES } from "../../support/hub/support.ts";

const DAY = 24 * 3_600_000;
/** More than are compared closely but fewer than are indexed; and enough for an index. */
const SIZES = [300, 1_200];

describe.each(STORES)("recall among many records on %s", { timeout: 120_000 }, (store) => {
  async function team() {
    const clock = new VirtualClock(1_000 * DAY);
    const hub = await openFresh(store, { embedder: false, clock });
    const ann = await hub.agent("ann", {});
    const bob = await hub.agent("bob", {});
    return { hub, ann, bob, clock };
  }

  const crowd = (count: number, more: object = {}) =>
    Array.from({ length: count }, (_, n) => ({
      content: `deploy note ${n}`,
      session: `crowd ${n}`,
      ...more,
    }));

  const found = async (of: Hub | Agent, query: RecallQuery = {}) =>
    (await of.recall("deploy note", { limit: 10, depth: 0, ...query })).items.map(
      ({ memory }) => memory.session,
    );

  /** Writes in batches of the size that one append accepts. */
  async function write(agent: Agent, inputs: readonly { content: string }[]): Promise<void> {
    for (let at = 0; at < inputs.length; at += 500)
      await agent.remember(inputs.slice(at, at + 500));
  }

  describe.each(SIZES)("with %i records", (count) => {
    it("finds records that pass a filter behind those that do not [MEM-8]", async () => {
      const { hub, ann, bob, clock } = await team();
      await ann.remember({
        content: "deploy note of old",
        session: "old",
        task: "x",
        tags: ["gold"],
        importance: 0.9,
      });
      clock.advance(DAY);
      await write(bob, crowd(count));
      for (const query of [
        { until: 1_000 * DAY + 1 },
        { asOf: 1_000 * DAY + 1 },
        { minImportance: 0.8 },
        { task: "x" },
        { tag: "gold" },
        { agent: "ann" },
        { task: "x", traces: true },
        { session: "old" },
      ] satisfies RecallQuery[]) {
        expect(await found(hub, query), JSON.stringify(query)).toEqual(["old"]);
      }
    });

    it("finds visible records behind private ones [MEM-8 MEM-11]", async () => {
      const { hub, ann, bob } = await team();
      await ann.remember({ content: "deploy note of all", session: "all" });
      await write(bob, crowd(count, { scope: "agent" }));
      expect(await found(hub)).toEqual(["all"]);
      expect(await found(ann)).toEqual(["all"]);
      expect(await found(bob, { scope: "team" })).toEqual(["all"]);
    });

    it("finds a record of main behind those of a branch [MEM-8 MEM-10]", async () => {
      const { hub, ann, bob } = await team();
      await ann.remember({ content: "deploy note of main", session: "main" });
      const trial = await bob.branches.create("trial");
      await write(trial, crowd(count));
      expect(await found(hub)).toEqual(["main"]);
      expect(await found(trial, { branch: "main" })).toEqual(["main"]);
    });
  });

  it("returns only the latest of many versions [MEM-8 MEM-9]", async () => {
    const { hub, ann, bob } = await team();
    let last = await ann.remember({ content: "deploy note: host 0", session: "v0" });
    for (let n = 1; n < 60; n++) {
      const by = n % 2 === 0 ? ann : bob;
      last = await by.remember({
        content: `deploy note: host ${n}`,
        session: `v${n}`,
        relations: [{ kind: "supersedes", to: last.id }],
      });
    }
    expect(await found(hub)).toEqual(["v59"]);
    expect(await found(hub, { agent: "ann" }), "whichever agent replaced it").toEqual([]);
    expect(await found(hub, { depth: 2, visits: 1 })).toEqual(["v59"]);
    const marked = await hub.recall("deploy note", { limit: 60, superseded: "marked" });
    expect(marked.items.filter(({ supersededBy }) => supersededBy.length > 0)).toHaveLength(59);
  });

  it("returns every hit once across pages, even if one gets quarantined [MEM-8]", async () => {
    const { hub, ann } = await team();
    await write(ann, crowd(400));
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await hub.recall("deploy note", {
        limit: 25,
        ...(after === undefined ? {} : { after }),
      });
      seen.push(...page.items.map(({ memory }) => memory.session));
      if (seen.length === 25)
        await ann.memories.quarantine([page.items[3]?.memory.id ?? ""], "wrong");
      after = page.next;
    } while (after !== undefined);
    expect(seen).toHaveLength(400);
    expect(new Set(seen).size).toBe(400);
  });

  it("does not return pruned traces [MEM-8 MEM-18]", async () => {
    const { hub, ann, clock } = await team();
    await ann.trace(crowd(200).map(({ content }) => ({ kind: "tool", content })));
    clock.advance(10 * DAY);
    const later = await hub.agent("ann", {});
    await later.trace({ kind: "tool", content: "deploy note that stays" });
    await hub.settings.update({ retention: { traces: { days: 5 } } });
    await hub.memories.prune();
    const { items: hits, next } = await hub.recall("deploy note", { traces: true, limit: 5 });
    expect(hits.map(({ memory }) => memory.content).join()).toContain("deploy note that stays");
    expect(hits.every(({ memory }) => memory.storedAt > 1_005 * DAY)).toBe(true);
    expect(next).toBeUndefined();
  });

  it("answers a question of a thousand words [MEM-8]", async () => {
    const { hub, ann } = await team();
    await ann.remember({ content: "The constantinopolitan archive moved." });
    const words = Array.from({ length: 1_000 }, (_, n) => `word${n}`);
    const { items: hits } = await hub.recall(`${words.join(" ")} constantinopolitan archive`);
    expect(hits).toHaveLength(1);
  });
});
