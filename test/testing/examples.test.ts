/** Examples played in memory with the test kit: no disk, no process, no waiting. */
import { expect, it } from "vitest";
import { importJune } from "../../examples/dead-letter.ts";
import { askForReview, review } from "../../examples/fallback.ts";
import { refactorAuth } from "../../examples/planner-executor-critic.ts";
import { deploy, order } from "../../examples/retry.ts";
import { expectLine, lineText, memoryHub, play, scriptedAgent } from "../../src/testing/index.ts";
import { runScript } from "../support/run-script.ts";

it("planner → executor → critic: reaches every agent with its constraint, and repeats nothing [OPS-11]", async () => {
  await using kit = memoryHub();
  const said: string[] = [];
  await refactorAuth(kit.hub, (text) => said.push(text));
  const line = await expectLine(kit.hub, "auth-refactor-2026-06-08");
  line
    .wentThrough("planner", "executor", "critic")
    .keptConstraint("Do not modify test fixtures")
    .neverRedid(/tests (pass|were run)/)
    .deliveredOnce()
    .attempts(2)
    .ended("completed")
    .nothingLost();
  expect(said[0]).toContain("must: Do not modify test fixtures");
});

it("retry: runs the deployer's code three times over backoffs without waiting [OPS-11]", async () => {
  const played = async () => {
    await using kit = memoryHub({ seed: 3 });
    const { hub, clock } = kit;
    const deployer = await scriptedAgent(hub, "deployer", { role: "deployer" }, () => deploy);
    await order(await hub.agent("planner", { role: "planner" }));
    const { passedMs } = await play(hub, clock, [deployer]);
    const line = await expectLine(hub, "deploy-42");
    line.wentThrough("planner", "deployer").attempts(3).ended("completed").nothingLost();
    return { passedMs, text: await lineText(hub, "deploy-42") };
  };
  const first = await played();
  expect(first.passedMs).toBeGreaterThan(0);
  expect(await played()).toEqual(first);
});

it("fallback: a receiver that does not accept is replaced by the fallback [OPS-11]", async () => {
  await using kit = memoryHub();
  const { hub, clock } = kit;
  const agents = [
    await scriptedAgent(hub, "reviewer", { role: "reviewer" }, []),
    await scriptedAgent(hub, "backup", { role: "reviewer" }, () => review),
  ];
  await askForReview(await hub.agent("planner", { role: "planner" }));
  await play(hub, clock, agents);
  const line = await expectLine(hub, "review-17");
  line.wentThrough("planner", "backup").attempts(3).attempts(1, "backup").deliveredOnce();
  line.ended("completed").nothingLost();
});

it("dead letter: given up once, fixed, and completed by the second attempt [OPS-11]", async () => {
  await using kit = memoryHub();
  const said: string[] = [];
  await importJune(kit.hub, (text) => said.push(text));
  const line = await expectLine(kit.hub, "import-june");
  line.wentThrough("planner", "importer").attempts(2).ended("completed").nothingLost();
  expect(said).toContain("import-june is dead: There is no juen.csv");
});

it("testing a pipeline: runs with the test runner of Node alone [OPS-11]", async () => {
  const { code, stdout, stderr } = await runScript("scripts/example.ts", ["testing-a-pipeline"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/pass 2\n/);
  expect(stdout).toMatch(/fail 0\n/);
});
