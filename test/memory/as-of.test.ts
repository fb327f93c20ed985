/** Tests `asOf` reads: memories as they were at a time, or when a handoff was accepted. */

import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/index.ts";
import type { AsOf } from "../../src/memory/as-of.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { openFresh, refusal, STORES, take } from "../support/hub/support.ts";

const said = async (agent: Agent, asOf?: AsOf): Promise<string[]> =>
  (
    await agent.memories.recent({
      type: "finding",
      limit: 1_000,
      ...(asOf !== undefined && { asOf }),
    })
  ).items
    .map(({ content }) => content)
    .reverse();

const say = (agent: Agent, content: string) => agent.remember({ type: "finding", content });

describe.each(STORES)("an asOf read on %s", (store) => {
  async function team() {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    return { clock, hub, ada, ben };
  }

  it("excludes memories written after a time (a number or an ISO string) [MEM-15]", async () => {
    const { clock, hub, ada } = await team();
    const times: number[] = [];
    for (let n = 0; n < 12; n++) {
      await say(ada, `${n}`);
      times.push(clock.now());
      clock.advance(1_000);
    }
    const all = times.map((_, n) => `${n}`);
    for (const [n, time] of times.entries()) {
      expect(await said(ada, time)).toEqual(all.slice(0, n + 1));
      expect(await said(ada, new Date(time).toISOString())).toEqual(all.slice(0, n + 1));
      expect(await said(ada, time - 1)).toEqual(all.slice(0, n));
    }
    const [last] = (await ada.memories.recent({ limit: 1 })).items;
    expect((await hub.memories.read(last?.id ?? "", { asOf: clock.now() })).content).toBe("11");
    const early = await refusal(ada.memories.read(last?.id ?? "", { asOf: (times[11] ?? 0) - 1 }));
    expect(early).toMatchObject({ code: "unknown_memory", path: "id" });
  });

  it("pages through the memories that existed at that time [MEM-15]", async () => {
    const { clock, ada } = await team();
    await ada.remember(Array.from({ length: 10 }, (_, n) => ({ content: `${n}` })));
    const asOf = clock.now();
    clock.advance(1);
    await ada.remember({ content: "later" });
    const first = (await ada.memories.recent({ limit: 6, asOf })).items;
    const second = (await ada.memories.recent({ limit: 6, asOf, after: first.at(-1)?.id })).items;
    expect([...first, ...second].map(({ content }) => content)).toEqual(
      Array.from({ length: 10 }, (_, n) => `${9 - n}`),
    );
  });

  it("returns relations, pins and the catch-up as of that time [MEM-15]", async () => {
    const { clock, ada } = await team();
    const known = await say(ada, "known");
    await ada.memories.pin(known.id);
    const pinned = clock.now();
    clock.advance(1_000);
    await ada.memories.unpin(known.id);
    await ada.remember({ content: "better", relations: [{ kind: "supersedes", to: known.id }] });
    const inward = { direction: "in" as const, kinds: ["supersedes" as const] };
    expect((await ada.memories.relations(known.id, { ...inward, asOf: pinned })).items).toEqual([]);
    expect((await ada.memories.relations(known.id, inward)).items).toHaveLength(1);
    expect((await ada.memories.pins({ asOf: pinned })).map(({ id }) => id)).toEqual([known.id]);
    expect(await ada.memories.pins()).toEqual([]);
    expect(await ada.memories.pins({ asOf: pinned - 1 })).toEqual([]);
    expect((await ada.catchUp({ asOf: pinned })).text).toContain("## Pinned");
    expect((await ada.catchUp()).text).not.toContain("## Pinned");
  });

  it("resolves a handoff's acceptance exactly, even at equal timestamps [MEM-15]", async () => {
    const { ada, ben } = await team();
    await say(ada, "before");
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "Go" });
    await say(ada, "sent");
    const waits = await refusal(said(ben, { delivery: sent.id }));
    expect(waits).toMatchObject({ code: "invalid_input", path: "asOf" });
    const work = await take(ben);
    await say(ada, "accepted");
    await work.complete();
    const known = ["before", "sent"];
    expect(await said(ben, { delivery: sent.id })).toEqual(known);
    expect(await said(ada, { envelope: sent.envelope.id })).toEqual(known);
    expect(await said(ben)).toEqual([...known, "accepted"]);
  });

  it("uses the first acceptance of an envelope with several receivers [MEM-15]", async () => {
    const { clock, hub, ada, ben } = await team();
    const cyd = await hub.agent("cyd", {});
    await hub.channels.set("news");
    for (const agent of [ben, cyd]) await agent.channels.subscribe("news");
    const sent = await ada.channels.publish("news", { task: "t", intent: "Go" });
    await say(ada, "sent");
    for (const agent of [cyd, ben]) {
      await take(agent);
      await say(ada, `accepted by ${agent.id}`);
      clock.advance(1_000);
    }
    expect(await said(ada, { envelope: sent.envelope.id })).toEqual(["sent"]);
  });

  it("shows branches as they were before creation and before the merge [MEM-15]", async () => {
    const { clock, ada } = await team();
    await say(ada, "main 1");
    const start = clock.now();
    clock.advance(1_000);
    const branch = await ada.branches.create("try");
    await say(branch, "branch 1");
    const apart = clock.now();
    clock.advance(1_000);
    await say(branch, "branch 2");
    await ada.branches.merge("try");
    const merged = clock.now();
    clock.advance(1_000);
    await say(ada, "main 2");
    expect(await said(ada, start)).toEqual(["main 1"]);
    expect(await said(ada, apart), "not merged yet").toEqual(["main 1"]);
    expect(await said(ada, merged)).toEqual(["main 1", "branch 1", "branch 2"]);
    expect(await said(branch, start)).toEqual(["main 1"]);
    expect(await said(branch, apart)).toEqual(["main 1", "branch 1"]);
    expect(await said(branch)).toEqual(["main 1", "branch 1", "branch 2"]);
  });

  it("refuses invalid times and unknown deliveries and envelopes [MEM-15]", async () => {
    const { ada } = await team();
    for (const asOf of [-1, 1.5, "yesterday", {}, { delivery: "x" }, null]) {
      const error = await refusal(ada.memories.recent({ asOf: asOf as never }));
      expect(error, JSON.stringify(asOf)).toMatchObject({ code: "invalid_input" });
      expect(error.path).toMatch(/^asOf/);
    }
    const none = "01900000-0000-7000-8000-000000000000";
    expect(await refusal(ada.memories.recent({ asOf: { delivery: `dlv_${none}` } }))).toMatchObject(
      {
        code: "unknown_delivery",
      },
    );
    expect(await refusal(ada.memories.recent({ asOf: { envelope: `env_${none}` } }))).toMatchObject(
      {
        code: "unknown_envelope",
      },
    );
  });
});
