/**
 * Line assertions: each passes on a line that satisfies it, and fails readably on one that does
 * not.
 */
import { AssertionError } from "node:assert";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Hub, LineStep } from "../../src/index.ts";
import {
  completes,
  crashes,
  declines,
  expectLine,
  fails,
  handsOver,
  type LineAssertions,
  lineText,
  memoryHub,
  notes,
  play,
  type Script,
  scriptedAgent,
} from "../../src/testing/index.ts";

const RULE = "Do not touch the test fixtures";
const TESTS = "Ran the tests";
const TO_CRITIC = handsOver({ to: "critic", next: ["Review it"] });

interface Scripts {
  readonly coder?: Script;
  readonly critic?: Script;
  readonly seed?: number;
}

/** Plays a planner, a coder and a critic by their scripts. */
async function played({ coder = [TO_CRITIC], critic = [completes()], seed = 1 }: Scripts) {
  const { hub, clock } = memoryHub({ seed });
  onTestFinished(() => hub.close());
  const planner = await hub.agent("planner", { role: "planner" });
  const agents = [
    await scriptedAgent(hub, "coder", { role: "coder" }, coder),
    await scriptedAgent(hub, "critic", { role: "critic" }, critic),
  ];
  await planner.handoff({
    to: "coder",
    task: "auth",
    intent: "Refactor auth",
    constraints: [RULE],
    doNotRedo: ["Choosing a library"],
    policy: { attempts: 3 },
  });
  await play(hub, clock, agents);
  return { hub };
}

/** Returns the error of a failed assertion. */
async function complaint(hub: Hub, expectation: (line: LineAssertions) => unknown) {
  const line = await expectLine(hub, "auth");
  try {
    expectation(line);
  } catch (error) {
    if (!(error instanceof AssertionError)) throw error;
    return error;
  }
  throw new Error("it held");
}

/** Returns the hub with one method, or a group of methods, replaced. */
function overriding<Name extends keyof Hub>(hub: Hub, name: Name, replacement: Hub[Name]): Hub {
  return new Proxy(hub, {
    get(target, asked) {
      if (asked === name) return replacement;
      const value: unknown = Reflect.get(target, asked, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe("wentThrough", () => {
  it("passes for the agents of the line, however many attempts each needed [OPS-11]", async () => {
    const { hub } = await played({ coder: [fails("503"), crashes(), TO_CRITIC] });
    const line = await expectLine(hub, "auth");
    expect(line.wentThrough("planner", "coder", "critic")).toBe(line);
  });

  it("fails when an agent is missing, extra or in another order [OPS-11]", async () => {
    const { hub } = await played({});
    for (const path of [
      ["planner", "coder"],
      ["planner", "coder", "critic", "coder"],
      ["planner", "critic", "coder"],
      [],
    ]) {
      const { operator, actual } = await complaint(hub, (line) => line.wentThrough(...path));
      expect({ operator, actual }).toEqual({
        operator: "wentThrough",
        actual: "planner → coder → critic",
      });
    }
  });

  it("reports the expected and the actual agents, and the line [OPS-11]", async () => {
    const { hub } = await played({ critic: [] });
    const { message, expected } = await complaint(hub, (line) => line.wentThrough("planner"));
    expect(expected).toBe("planner");
    expect(message).toBe(
      [
        'The line of "auth" did not go through these agents.',
        "  expected  planner",
        "  was       planner → coder → critic",
        "",
        await lineText(hub, "auth"),
      ].join("\n"),
    );
  });
});

describe("keptConstraint", () => {
  it("passes for a constraint on the ledger, by its rule or id [OPS-11]", async () => {
    const { hub } = await played({ coder: [crashes(), TO_CRITIC] });
    const line = await expectLine(hub, "auth");
    const [first] = await hub.tasks.line("auth");
    line.keptConstraint(RULE).keptConstraint(first?.envelope.constraints[0]?.id ?? "");
  });

  it("fails for an unknown constraint, and names the hop that dropped one [OPS-11]", async () => {
    const { hub } = await played({
      coder: [
        async (work, turn) => {
          const [id = ""] = work.envelope.constraints.map((each) => each.id);
          const planner = await turn.hub.agent("planner");
          await planner.tasks.releaseItem("auth", { id, reason: "The fixtures are generated now" });
        },
        TO_CRITIC,
      ],
    });
    expect((await complaint(hub, (line) => line.keptConstraint("Be kind"))).actual).toBe(
      "no handoff has it",
    );
    expect((await complaint(hub, (line) => line.keptConstraint(RULE))).actual).toBe(
      "missing in the handoff by coder, hop 1",
    );
  });
});

describe("ended and waitsFor", () => {
  it("pass for how the line ended, or whom it waits for [OPS-11]", async () => {
    (await expectLine((await played({})).hub, "auth")).ended("completed");
    const declined = await played({ critic: [declines("No time.")] });
    (await expectLine(declined.hub, "auth")).ended("declined");
    const failed = await played({ coder: [fails({ class: "permanent", message: "No." })] });
    (await expectLine(failed.hub, "auth")).ended("dead");
    (await expectLine((await played({ critic: [] })).hub, "auth")).waitsFor("critic");
  });

  it("fail for another end, for an open line, and for a task without handoffs [OPS-11]", async () => {
    const { hub } = await played({});
    expect((await complaint(hub, (line) => line.ended("dead"))).actual).toBe("completed (critic)");
    expect((await complaint(hub, (line) => line.waitsFor("critic"))).actual).toBe(
      "completed (critic)",
    );
    const open = await played({ critic: [] });
    expect((await complaint(open.hub, (line) => line.ended("completed"))).actual).toBe(
      "ready (critic)",
    );
    expect((await complaint(open.hub, (line) => line.waitsFor("coder"))).actual).toBe(
      "ready (critic)",
    );
    const { hub: empty } = memoryHub();
    onTestFinished(() => empty.close());
    const { message } = await complaint(empty, (line) => line.ended("completed"));
    expect(message).toContain("there are no handoffs");
  });
});

describe("nothingLost", () => {
  it("passes after failures and crashes [OPS-11]", async () => {
    const { hub } = await played({
      coder: [fails("503"), crashes(), TO_CRITIC],
      critic: [crashes()],
    });
    (await expectLine(hub, "auth")).nothingLost();
  });

  it("fails when totals do not match, or a delivery is missing, duplicated or damaged [OPS-11]", async () => {
    const { hub } = await played({});
    const totals = await hub.deliveries.totals();
    const line = await hub.tasks.line("auth");
    const report = await hub.verify();
    const problem = { record: "mem_1", field: "text", message: "was changed" };
    const withLine = (steps: LineStep[]): Hub =>
      overriding(hub, "tasks", { ...hub.tasks, line: async () => steps });
    const cases: [Hub, RegExp][] = [
      [
        overriding(hub, "deliveries", {
          ...hub.deliveries,
          totals: async () => ({ ...totals, deliveries: 3 }),
        }),
        /3 deliveries, 2 by state/,
      ],
      [withLine(line.slice(1)), /was sent and does not exist/],
      [withLine([...line, ...line.slice(1)]), /exists twice/],
      [
        overriding(hub, "events", { ...hub.events, list: async () => ({ items: [] }) }),
        /exists and was never sent/,
      ],
      [
        overriding(hub, "verify", async () => ({ ...report, problems: [problem] })),
        /mem_1: was changed/,
      ],
    ];
    for (const [faulty, message] of cases) {
      expect((await complaint(faulty, (each) => each.nothingLost())).actual).toMatch(message);
    }
  });
});

describe("neverRedid", () => {
  it("passes for what was done once, and for doNotRedo items that were not done [OPS-11]", async () => {
    const { hub } = await played({ coder: [notes(`${TESTS}: 47 of 47 pass`), TO_CRITIC] });
    (await expectLine(hub, "auth"))
      .neverRedid(TESTS)
      .neverRedid(/tests: \d+ of/)
      .neverRedid("Choosing a library");
  });

  it("fails for what was done twice, done in spite of doNotRedo, or never mentioned [OPS-11]", async () => {
    const { hub } = await played({
      coder: [notes(`${TESTS}.`), notes("Choosing a library: jose"), TO_CRITIC],
      critic: [completes(`${TESTS} again.`)],
    });
    const says = async (what: string | RegExp) =>
      (await complaint(hub, (line) => line.neverRedid(what))).actual;
    expect(await says(TESTS)).toBe(`done again: critic: ${TESTS} again.`);
    expect(await says("Choosing a library")).toBe("done again: coder: Choosing a library: jose");
    expect(await says(/deployed/i)).toBe("it was never mentioned");
  });
});

describe("attempts and deliveredOnce", () => {
  it("pass for the actual number of attempts [OPS-11]", async () => {
    const once = await expectLine((await played({})).hub, "auth");
    once.attempts(2).attempts(1, "coder").attempts(0, "planner").deliveredOnce();
    const { hub } = await played({ coder: [fails("503"), crashes(), TO_CRITIC] });
    (await expectLine(hub, "auth")).attempts(4).attempts(3, "coder").attempts(1, "critic");
  });

  it("fail for another number of attempts, a redelivery, and work that was not accepted [OPS-11]", async () => {
    const { hub } = await played({ coder: [fails("503"), TO_CRITIC], critic: [] });
    const says = async (expectation: (line: LineAssertions) => unknown) =>
      (await complaint(hub, expectation)).actual;
    expect(await says((line) => line.attempts(1))).toBe("2 (coder failed, coder completed)");
    expect(await says((line) => line.attempts(3, "coder"))).toMatch(/^2 /);
    expect(await says((line) => line.attempts(1, "critic"))).toBe("0");
    expect(await says((line) => line.deliveredOnce())).toBe(
      "coder accepted it 2 times; critic accepted it 0 times",
    );
  });
});

describe("lineText", () => {
  const scripts = { coder: [fails("503"), notes("half of it"), crashes(), TO_CRITIC] };

  it("is the same for the same seed, times included [OPS-11]", async () => {
    const [first, again, other] = [
      await lineText((await played({ ...scripts, seed: 7 })).hub, "auth"),
      await lineText((await played({ ...scripts, seed: 7 })).hub, "auth"),
      await lineText((await played({ ...scripts, seed: 8 })).hub, "auth"),
    ];
    expect(again).toBe(first);
    expect(other).not.toBe(first); // The jitter before the second attempt.
    const timeless = (text: string) => text.replace(/ *\d+ ms/g, "");
    expect(timeless(other)).toBe(timeless(first));
  });

  it("describes a line step by step, without ids [OPS-11]", async () => {
    const { hub } = await played({ coder: [notes("half of it"), crashes(), TO_CRITIC] });
    expect(await lineText(hub, "auth")).toBe(
      `auth: completed by critic
      0 ms  planner → coder  handed over    Refactor auth
      0 ms  coder            accepted       attempt 1
      0 ms  coder            noted          half of it
  60000 ms  coder            silent         attempt 1: the holder stopped responding: its lease expired
  60000 ms  baton → coder    reconstructed  Reconstructed from the notes of coder, which stopped responding at "auth".
  60000 ms  coder            accepted       attempt 2
  60000 ms  coder → critic   handed over    Refactor auth
  60000 ms  critic           accepted       attempt 1
  60000 ms  critic           completed      critic completed "auth".`,
    );
  });
});
