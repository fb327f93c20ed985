/** Invalid input to accepted work: each call is refused, and the work can still be settled. */
import { describe, expect, it } from "vitest";
import type { Agent, Work } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { brokenTexts, unjsonable, wrongTypes } from "../support/bad-values.ts";
import { refused } from "../support/refusal.ts";
import { openTeam, refusedWithoutTrace, type Team } from "../support/team.ts";

async function accepted(): Promise<Team & { readonly work: Work }> {
  const team = await openTeam();
  await team.planner.handoff({ to: "coder", task: "t", intent: "Go" });
  const work = await team.coder.accept();
  if (work === undefined) throw new Error("nothing to accept");
  return { ...team, work };
}

describe("work.complete", () => {
  const GOOD = { confidence: 0.5, outputs: { patch: "diff" }, summary: "Done" };

  it("refuses a field of the wrong type or with malformed text, and names the field", async () => {
    const { file, work } = await accepted();
    for (const { title, path, input } of [...wrongTypes(GOOD), ...brokenTexts(GOOD)]) {
      const expected = { code: "invalid_input", path: `result.${path}` } as const;
      await refusedWithoutTrace(file, () => work.complete(input), expected).catch((error: Error) =>
        expect.fail(`${title}: ${error.message}`),
      );
    }
    expect(await work.complete(GOOD)).toMatchObject({ kind: "settled" });
  });

  it.each(unjsonable())("refuses %s in the outputs, with the rule", async (_, value, rule) => {
    const { file, work } = await accepted();
    const act = () => work.complete({ outputs: { list: ["ok", value] } });
    await refusedWithoutTrace(file, act, {
      code: "invalid_input",
      path: /^result\.outputs\.list\[1\]/,
      rule,
    });
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it.each([null, 42, "text", true, []])(
    "refuses a result that is not an object: %s",
    async (result) => {
      const { file, work } = await accepted();
      const expected = { code: "invalid_input", path: "result" } as const;
      await refusedWithoutTrace(file, () => work.complete(result as never), expected);
      expect(await work.complete()).toMatchObject({ kind: "settled" });
    },
  );

  it("refuses a result over the size limit of a memory, and accepts a smaller one", async () => {
    const { file, work } = await accepted();
    const act = () => work.complete({ outputs: { all: "x".repeat(200_000) } });
    await refusedWithoutTrace(file, act, { code: "limit_exceeded", hint: /memoryBytes/ });
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });
});

describe("work.fail", () => {
  const GOOD = {
    attempted: "npm test",
    class: "retryable",
    hints: ["again"],
    message: "flaky",
    type: "error",
  };

  it("refuses a field of the wrong type or with malformed text, and names the field", async () => {
    const { file, work } = await accepted();
    for (const { title, path, input } of [...wrongTypes(GOOD), ...brokenTexts(GOOD)]) {
      const expected = {
        code: "invalid_input",
        path: new RegExp(`^failure\\.${RegExp.escape(path)}`),
      } as const;
      await refusedWithoutTrace(file, () => work.fail(input as never), expected).catch(
        (error: Error) => expect.fail(`${title}: ${error.message}`),
      );
    }
    await refusedWithoutTrace(file, () => work.fail({} as never), {
      code: "invalid_input",
      path: "failure.message",
    });
    expect(await work.fail({ message: "flaky" })).toMatchObject({ kind: "settled" });
  });
});

describe("work.decline", () => {
  it.each([[undefined], [null], [42], [""], ["x".repeat(16_001)], ["a\0b"], ["\ud800"], [{}]])(
    "refuses the reason %j",
    async (reason) => {
      const { file, work } = await accepted();
      const expected = { code: "invalid_input", path: /^reason/ } as const;
      await refusedWithoutTrace(file, () => work.decline(reason as never), expected);
      expect(await work.decline("not mine")).toMatchObject({ kind: "settled" });
    },
  );
});

describe("work.note", () => {
  it.each([
    [""],
    ["a\0b"],
    ["\ud800"],
    [42],
    [true],
    [{}],
    [null],
    [undefined],
    [{ content: "x", tags: "no list" }],
    [{ content: "x", relations: 42 }],
  ])("refuses %j", async (note) => {
    const { file, work } = await accepted();
    await refusedWithoutTrace(file, () => work.note(note as never), { code: "invalid_memory" });
    expect(await work.note("fine")).toMatchObject({ kind: "noted" });
  });
});

describe("work.handoff", () => {
  it("refuses an invalid draft; the work can still be handed on", async () => {
    const { file, work } = await accepted();
    for (const draft of [{ to: 42 }, { to: "planner", next: "no list" }, { to: "planner", x: 1 }]) {
      const act = () => work.handoff(draft as never);
      await refusedWithoutTrace(file, act, { code: "invalid_envelope" });
    }
    await refusedWithoutTrace(file, () => work.handoff({}), { code: "no_route", path: "to" });
    await refusedWithoutTrace(file, () => work.handoff({ to: "nobody" }), {
      code: "unknown_agent",
    });
    expect(await work.handoff({ to: "planner" })).toMatchObject({ kind: "sent" });
  });
});

describe("settled or lost work", () => {
  it("cannot be settled again in any way", async () => {
    const { file, work } = await accepted();
    await work.complete();
    const verbs = [
      () => work.complete(),
      () => work.fail({ message: "x" }),
      () => work.decline("x"),
      () => work.release(),
      () => work.handoff({ to: "planner" }),
    ];
    for (const verb of verbs) await refusedWithoutTrace(file, verb, { code: "already_settled" });
  });

  it("cannot be accepted by another agent, or twice", async () => {
    const { planner, coder } = await openTeam();
    const { id } = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const untouched = async (agent: Agent): Promise<void> => {
      expect(await agent.accept({ delivery: id })).toBeUndefined();
    };
    await untouched(planner);
    expect(await coder.accept({ delivery: id })).toBeDefined();
    await untouched(coder);
    await untouched(planner);
  });

  it("cannot be settled after its lease expired; a late note is kept and tagged [DLV-6]", async () => {
    const clock = new VirtualClock();
    const limits = { leaseMs: 60_000 };
    const { file, hub, planner, coder } = await openTeam({ clock, limits });
    await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = await coder.accept();
    if (work === undefined) throw new Error("nothing to accept");
    // Simulates a paused process: no heartbeat for longer than the lease.
    clock.advance(limits.leaseMs + 1);
    await refusedWithoutTrace(file, () => work.complete(), { code: "lease_lost", path: "lease" });
    const { memory, kind } = await work.note("found something late");
    expect(kind).toBe("kept");
    expect(memory.tags).toContain("stale-holder");
    await refused(() => work.complete(), { code: "lease_lost" });
    const again = await coder.accept();
    expect(again?.delivery.attempt).toBe(2);
    await again?.complete();
    expect((await hub.deliveries.totals()).byState.completed).toBe(1);
  });
});
