/**
 * Tests a pipeline: runs production code in memory, with a virtual clock and scripted agents. Works
 * with any test runner; this one is node:test.
 *
 * npm run example -- testing-a-pipeline
 */
import { test } from "node:test";
import type { Agent, Work } from "batonpass";
import {
  completes,
  crashes,
  expectLine,
  fails,
  memoryHub,
  notes,
  play,
  scriptedAgent,
} from "batonpass/testing";

const RULE = "Do not touch the test fixtures";

/** Your code: starts a task. */
const begin = (planner: Agent) =>
  planner.handoff({ to: "coder", task: "auth", intent: "Refactor auth", constraints: [RULE] });

/** Your code: what the coder does with its work. */
async function code(work: Work): Promise<void> {
  await work.note("Extracted validateToken(); 47 of 47 tests pass.");
  await work.handoff({ to: "role:critic", action: "needs_review" });
}

test("the constraint reaches the critic after its first session crashes", async () => {
  await using kit = memoryHub();
  const { hub, clock } = kit;
  const planner = await hub.agent("planner", { role: "planner" });
  const coder = await scriptedAgent(hub, "coder", { role: "coder" }, () => code);
  const critic = await scriptedAgent(hub, "critic", { role: "critic" }, [
    notes("Read half of it."),
    crashes(),
    completes("Approved."),
  ]);

  await begin(planner);
  await play(hub, clock, [coder, critic]); // skips the time until the lease expires

  (await expectLine(hub, "auth"))
    .wentThrough("planner", "coder", "critic")
    .keptConstraint(RULE)
    .neverRedid("47 of 47 tests pass")
    .attempts(2, "critic")
    .ended("completed")
    .nothingLost();
});

test("a failing coder leads to a dead letter, and nothing is lost", async () => {
  await using kit = memoryHub();
  const { hub, clock } = kit;
  const planner = await hub.agent("planner", { role: "planner" });
  const coder = await scriptedAgent(hub, "coder", { role: "coder" }, () =>
    fails("The sandbox does not start"),
  );

  await begin(planner);
  await play(hub, clock, [coder]); // skips every backoff

  (await expectLine(hub, "auth")).wentThrough("planner", "coder").ended("dead").nothingLost();
});
