/** Tests pins: memories that are part of every catch-up until they are unpinned. */
import { describe, expect, it } from "vitest";
import { openFresh, refusal, STORES } from "../support/hub/support.ts";

describe.each(STORES)("a pin on %s", (store) => {
  async function team() {
    const hub = await openFresh(store);
    const lead = await hub.agent("lead", { role: "memory-keeper" });
    const coder = await hub.agent("coder", {});
    const pinned = async () => (await coder.memories.pins()).map(({ content }) => content);
    return { hub, lead, coder, pinned };
  }

  it("appears in every catch-up, whatever the task, tag or age [MEM-6]", async () => {
    const { lead, coder } = await team();
    const fact = await lead.remember({ type: "convention", content: "Node 24, no transpiler." });
    await lead.memories.pin(fact.id);
    await coder.remember(Array.from({ length: 120 }, (_, i) => ({ content: `Noise ${i}` })));
    for (const query of [{}, { task: "unrelated" }, { tag: "other" }, { limit: 1, tokens: 300 }]) {
      const { text, shown, omitted } = await coder.catchUp(query);
      expect(text, JSON.stringify(query)).toContain("Node 24, no transpiler.");
      expect([...shown, ...omitted], "shown once, as a pin").not.toContain(fact.id);
    }
  });

  it("is listed in pinning order, and pinning twice has no effect [MEM-6]", async () => {
    const { lead, coder, pinned } = await team();
    const [a, b] = await lead.remember([{ content: "A" }, { content: "B" }]);
    await lead.memories.pin(b?.id ?? "");
    await coder.memories.pin(a?.id ?? "");
    await coder.memories.pin(b?.id ?? "");
    expect(await pinned()).toEqual(["B", "A"]);
    expect((await lead.memories.recent({ type: "pin" })).items).toHaveLength(2);
  });

  it("can be removed and restored, and the chain records who did it [MEM-6]", async () => {
    const { hub, lead, coder, pinned } = await team();
    const { id } = await lead.remember({ content: "Freeze until Friday" });
    await lead.memories.pin(id);
    await coder.memories.unpin(id);
    expect(await pinned()).toEqual([]);
    expect((await coder.catchUp()).text).not.toContain("## Pinned");
    await coder.memories.unpin(id);
    await coder.memories.pin(id);
    expect(await pinned()).toEqual(["Freeze until Friday"]);
    const trail = [
      ...(await lead.memories.recent({ type: "pin" })).items,
      ...(await lead.memories.recent({ type: "unpin" })).items,
    ];
    expect(trail.map(({ agent, type }) => [agent, type])).toEqual([
      ["coder", "pin"],
      ["lead", "pin"],
      ["coder", "unpin"],
    ]);
    expect(await hub.verify()).toMatchObject({ problems: [] });
  });

  it("is refused for an unknown memory [MEM-6]", async () => {
    const { lead } = await team();
    const error = await refusal(lead.memories.pin("mem_01900000-0000-7000-8000-000000000000"));
    expect(error.code).toBe("unknown_memory");
    expect((await lead.memories.recent()).items).toEqual([]);
  });

  it("is listed once after concurrent calls, and removed by one unpin [MEM-6]", async () => {
    const { lead, coder, pinned } = await team();
    const { id } = await lead.remember({ content: "Once" });
    await Promise.all([lead.memories.pin(id), coder.memories.pin(id)]);
    expect(await pinned()).toEqual(["Once"]);
    await lead.memories.unpin(id);
    expect(await pinned()).toEqual([]);
  });

  it("accepts a long memory of multi-byte characters [MEM-6]", async () => {
    const { lead, pinned } = await team();
    const { id } = await lead.remember({ content: `x${"🏃".repeat(150)}` });
    await lead.memories.pin(id);
    expect(await pinned()).toHaveLength(1);
  });

  it("is not created by a memory of type pin [MEM-6]", async () => {
    const { lead, pinned } = await team();
    const { id } = await lead.remember({ content: "Real" });
    await lead.remember([
      { type: "pin", content: "Of nothing" },
      { type: "unpin", content: "Of nothing" },
    ]);
    await lead.memories.pin(id);
    expect(await pinned()).toEqual(["Real"]);
  });

  it("shows the current version of a superseded or corrected memory [MEM-6]", async () => {
    const { lead, coder } = await team();
    const first = await lead.remember({ content: "Node 22" });
    await lead.memories.pin(first.id);
    const by = (kind: "supersedes" | "corrects", to: string) => ({ relations: [{ kind, to }] });
    const second = await coder.remember({ content: "Node 23", ...by("supersedes", first.id) });
    const third = await coder.remember({ content: "Node 24", ...by("corrects", second.id) });
    expect(await coder.memories.pins()).toEqual([{ ...third, insteadOf: first.id }]);
    expect((await coder.catchUp({ task: "other" })).text).toContain("Node 24");
    expect((await coder.catchUp({ task: "other" })).text).not.toContain("Node 22");
    await coder.memories.pin(third.id);
    expect(
      (await lead.memories.recent({ type: "pin" })).items,
      "it is pinned already",
    ).toHaveLength(1);
    await coder.memories.unpin(third.id);
    expect(await coder.memories.pins()).toEqual([]);
  });

  it("shows the version that a merge kept [MEM-6]", async () => {
    const { lead, coder, pinned } = await team();
    const fact = await lead.remember({ content: "10 minutes" });
    await lead.memories.pin(fact.id);
    const relations = [{ kind: "supersedes" as const, to: fact.id }];
    const ours = await (await lead.branches.create("try")).remember({
      content: "5 minutes",
      relations,
    });
    const theirs = await coder.remember({ content: "20 minutes", relations });
    await coder.memories.pin(theirs.id);
    await lead.branches.merge("try", { resolve: [{ keep: ours.id, over: theirs.id }] });
    expect(await pinned()).toEqual(["5 minutes"]);
  });

  it("ends when its pin record is superseded or corrected [MEM-6]", async () => {
    const { lead, pinned } = await team();
    for (const kind of ["supersedes", "corrects"] as const) {
      const { id } = await lead.remember({ content: kind });
      await lead.memories.pin(id);
      expect(await pinned()).toEqual([kind]);
      const [{ id: to } = { id: "" }] = (await lead.memories.recent({ type: "pin" })).items;
      await lead.remember({ content: "No more.", relations: [{ kind, to }] });
      expect(await pinned()).toEqual([]);
    }
  });

  it("stays removed when the unpin record is quarantined [MEM-6]", async () => {
    const { lead, coder, pinned } = await team();
    const { id } = await lead.remember({ content: "Freeze until Friday" });
    await lead.memories.pin(id);
    await coder.memories.unpin(id);
    const [unpinned] = (await lead.memories.recent({ type: "unpin" })).items;
    await lead.memories.quarantine(unpinned?.id ?? "", "Who was that?");
    expect(await pinned()).toEqual([]);
  });
});
