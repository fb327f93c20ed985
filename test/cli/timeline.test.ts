/** `baton timeline`: what happened to a task, readable without having been involved. */
import { describe, expect, it } from "vitest";
import { testStore } from "./baton.ts";

describe("baton timeline", () => {
  it("shows the steps of a task, with each failure, the decision and its reason [CRD-5]", {
    timeout: 240_000,
  }, async () => {
    using store = testStore();
    await using hub = await store.open();
    const planner = await hub.agent("planner", { role: "planner" });
    const coder = await hub.agent("coder", { role: "coder" });
    const boss = await hub.agent("boss", { role: "coordinator" });
    const backup = await hub.agent("backup", { role: "coder" });
    await planner.tasks.add({ to: "coder", task: "endpoint", intent: "Build the endpoint" });
    const work = await coder.accept();
    await work?.note({ type: "finding", content: "There is\n\u001b[2Ja router." });
    await work?.fail({
      type: "no_access",
      class: "permanent",
      message: "The key is not mine",
      attempted: "A deploy",
      hints: ["Ask somebody who has it"],
    });
    const report = await boss.accept();
    if (report === undefined) throw new Error("the failure was not reported");
    const decision = { decision: "reroute", to: "backup", reason: "It has the key" } as const;
    await boss.failures.decide(report, decision);
    await (await backup.accept())?.complete({ summary: "Deployed." });

    const { code, stdout } = await store.baton("timeline", "endpoint");
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^endpoint, \d+ steps from \d{4}-/);
    const at = "\\+\\d+\\.\\d s";
    for (const pattern of [
      `${at}  planner → coder +handed over +Build the endpoint`,
      `${at}  coder +accepted$`,
      `${at}  coder +noted +finding: There is \\\\u\\{1b\\}\\[2Ja router\\.`,
      `${at}  coder +failed +no_access, permanent, attempt 1: The key is not mine`,
      "^ +tried: A deploy",
      "^ +hint: Ask somebody who has it",
      `${at}  baton → role:coordinator +reported +no_access, permanent, attempt 1: The key`,
      `${at}  boss +decided +reroute to backup, because It has the key`,
      `${at}  backup +completed +Deployed\\.`,
      `${at}  backup +closed +as done: Deployed\\.`,
    ]) {
      expect(stdout).toMatch(new RegExp(pattern, "m"));
    }
    expect(stdout).not.toContain("\u001b");
    expect(lines.filter((line) => line.includes("decided by boss"))).toEqual([]);

    const shown = JSON.parse((await store.baton("timeline", "endpoint", "--json")).stdout);
    expect(shown).toEqual(JSON.parse(JSON.stringify(await hub.tasks.timeline("endpoint"))));
    const page = await store.baton("timeline", "endpoint", "--limit", "2");
    expect(page.stdout).toMatch(/Next page: --after mem_/);
    expect((await store.baton("timeline", "endpiont")).stdout).toContain("Did you mean endpoint?");
  });
});
