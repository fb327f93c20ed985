/**
 * The tester: runs the project's tests in a child process and reports the counts. Only one run can
 * hold the lock; if another run holds it, the attempt fails as retryable.
 */
import { TestRequest } from "./messages.ts";
import type { Player } from "./player.ts";
import { LOCK } from "./project.ts";

export const tester: Player = async (work, { project, agent }) => {
  const { command } = TestRequest.parse(work.envelope.payload?.data);
  for (const { agent: other, task } of work.reservations.conflicts) {
    await work.note(`${other} has reserved ${LOCK}, for ${task}; trying nevertheless.`);
  }
  if (!(await project.lock(agent.id))) {
    await work.fail({
      type: "busy",
      class: "retryable",
      attempted: command.join(" "),
      message: `${LOCK}: ${await project.read(LOCK)} runs its tests`,
      hints: ["Try again when that run has ended"],
    });
    return;
  }
  const report = await project.test().finally(() => project.unlock());
  const summary = `${report.passed} of ${report.tests} tests pass.`;
  if (report.outcome === "failed") {
    await work.fail({ type: "tests_failed", class: "permanent", message: summary });
    return;
  }
  await work.complete({
    summary,
    outcome: report.outcome,
    outputs: { report },
    criteria: { report: ["All tests were run"] },
  });
};
