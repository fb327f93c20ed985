/**
 * Memories that imitate the hub's own records: any agent may give a memory the type of a pin or a
 * handoff, and the hub's own records must not be affected.
 */
import { describe, expect, it } from "vitest";
import type { MemoryInput } from "../../src/index.ts";
import { openTeam } from "../support/team.ts";

const NO_ENVELOPE = "env_01900000-0000-7000-8000-000000000000";

type LookAlike = readonly [string, MemoryInput];

const LOOK_ALIKES: readonly LookAlike[] = [
  ["a pin of nothing", { type: "pin", content: "Remember the milk" }],
  ["an unpin of nothing", { type: "unpin", content: "Forget the milk" }],
  ["a handoff without data", { type: "handoff", content: "Over to you", task: "t" }],
  ["a completion", { type: "action", content: "x", task: "t", data: { completed: NO_ENVELOPE } }],
  ["an acceptance", { type: "checkpoint", content: "x", data: { accepted: { deep: [] } } }],
  ["a handoff of a number", { type: "handoff", content: "x", task: "t", data: { envelope: 42 } }],
  ["a handoff of an object", { type: "handoff", content: "x", task: "t", data: { envelope: {} } }],
  ["a handoff of null", { type: "handoff", content: "x", task: "t", data: { envelope: null } }],
  [
    "a handoff of an envelope that never was",
    { type: "handoff", content: "x", task: "t", data: { envelope: NO_ENVELOPE, digest: "0" } },
  ],
];

describe("a memory that imitates a hub record", () => {
  it.each(LOOK_ALIKES)("does not affect pins, lines or deliveries: %s", async (_, input) => {
    const { hub, planner, coder } = await openTeam();
    const real = await planner.remember({ content: "really pinned" });
    await planner.memories.pin(real.id);
    await planner.remember(input);
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    expect((await coder.memories.pins()).map(({ id }) => id)).toEqual([real.id]);
    expect((await coder.catchUp()).text).toContain("really pinned");
    expect((await hub.tasks.line("t")).map(({ envelope }) => envelope.id)).toEqual([
      sent.envelope.id,
    ]);
    expect((await hub.verify()).problems).toEqual([]);
    expect(await (await coder.accept())?.complete()).toMatchObject({ kind: "settled" });
    await planner.memories.unpin(real.id);
    expect(await coder.memories.pins()).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });
});
