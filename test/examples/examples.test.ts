/** The examples, run as processes on a store of their own; their effects are read from that store. */
import { globSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Agent, type Hub, openHub } from "../../src/index.ts";
import { ROOT, type Run, runScript } from "../support/run-script.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const EXAMPLES = globSync("*.ts", { cwd: join(ROOT, "examples") }).map((file) =>
  file.replace(/\.ts$/, ""),
);

/** Runs an example, then lets the test look at what it left. */
async function afterRunning(
  example: string,
  look: (hub: Hub, run: Run) => Promise<void>,
): Promise<void> {
  using folder = temporaryFolder();
  const address = `sqlite:${folder.file("hub.db")}`;
  const run = await runScript("scripts/example.ts", [example], { env: { BATON_STORE: address } });
  expect(run).toMatchObject({ code: 0, stderr: "" });
  await using hub = await openHub(address);
  await look(hub, run);
}

describe("examples", () => {
  it.each(EXAMPLES)("%s leaves a store that verifies, with no open work", async (example) => {
    await afterRunning(example, async (hub) => {
      expect((await hub.verify()).problems).toEqual([]);
      const { deliveries, byState } = await hub.books();
      expect(byState.completed).toBe(deliveries);
      expect(deliveries).toBeGreaterThan(0);
    });
  });

  it("quick-start: the coder completes what the planner handed over", async () => {
    await afterRunning("quick-start", async (hub, run) => {
      expect(run.stdout).toMatch(/Extract validateToken\(\)[\s\S]*completed\n$/);
      const [step, ...more] = await hub.line("auth-refactor");
      expect(more).toEqual([]);
      expect(step?.envelope).toMatchObject({
        from: { agent: "planner" },
        to: { kind: "agent", agent: "coder" },
        constraints: [{ level: "must", rule: "Do not touch the test fixtures" }],
      });
      expect(step?.deliveries).toMatchObject([{ state: "completed", holder: "coder" }]);
    });
  });

  it("planner → executor → critic: one chain from the plan to the critic's result, under canonical names, the rule still there [CRD-6]", async () => {
    await afterRunning("planner-executor-critic", async (hub, run) => {
      const line = await hub.line("auth-refactor-2026-06-08");
      expect(line.map(({ envelope }) => [envelope.from.agent, envelope.to, envelope.hop])).toEqual([
        ["planner", { kind: "agent", agent: "executor" }, 0],
        ["executor", { kind: "agent", agent: "critic" }, 1],
      ]);
      const [toExecutor, toCritic] = line;
      expect(toCritic?.envelope.parents).toEqual([toExecutor?.envelope.id]);
      expect(toCritic?.envelope.intent).toBe(toExecutor?.envelope.intent);
      expect(toExecutor?.envelope.constraints).toMatchObject([
        { level: "must", rule: "Do not modify test fixtures" },
      ]);
      expect(toCritic?.envelope.constraints).toEqual(toExecutor?.envelope.constraints);

      const aliases = (await hub.agents()).map(({ id, aliases }) => [id, ...aliases]);
      expect(aliases).toEqual([
        ["critic"],
        ["executor", "sandbox-runner"],
        ["planner", "plan-bot"],
      ]);
      expect((await hub.agent("sandbox-runner")).id).toBe("executor");

      const critic = await hub.agent("critic");
      const result = toCritic?.deliveries[0]?.settledBy ?? "";
      const path = await trail(critic, result);
      expect(path).toEqual([
        ["plan", "planner"],
        ["handoff", "planner"],
        ["checkpoint", "executor"],
        ["step", "executor"],
        ["handoff", "executor"],
        ["checkpoint", "critic"],
        ["action", "critic"],
      ]);
      const everything = await critic.recent({ limit: 100 });
      expect(everything.map(({ branch }) => branch)).toEqual(everything.map(() => "main"));
      expect(everything).toHaveLength(path.length);
      const printed = run.stdout.trimEnd().split("\n").slice(-path.length);
      expect(printed.map((text) => text.split(/ +/).slice(0, 2))).toEqual(path);
    });
  });
});

/** Type and author of each record from the beginning to `id`, breadth first over what it rests on. */
async function trail(reader: Agent, id: string): Promise<[type: string, agent: string][]> {
  const seen = new Map<string, { seq: number; entry: [string, string] }>();
  const open = [id];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (seen.has(next)) continue;
    const { seq, type, agent } = await reader.read(next);
    seen.set(next, { seq, entry: [type, agent] });
    const edges = await reader.relations(next, { kinds: ["continues-from", "summarizes"] });
    open.push(...edges.map((edge) => edge.target));
  }
  return [...seen.values()].sort((a, b) => a.seq - b.seq).map(({ entry }) => entry);
}
