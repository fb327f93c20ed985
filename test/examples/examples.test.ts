/**
 * The examples, each run as a process on its own store; the tests read their effects from that
 * store.
 */

import { globSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  type Agent,
  type DeliveryState,
  type Hub,
  type LineStep,
  openHub,
} from "../../src/index.ts";
import { PACKAGE } from "../support/build/place.ts";
import { withoutNumbers } from "../support/fences.ts";
import { present } from "../support/present.ts";
import { ROOT, type Run, runScript } from "../support/run-script.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Every example, with the number of deliveries it leaves in each state; none stays open. */
const LEAVES: Readonly<Record<string, Partial<Record<DeliveryState, number>>>> = {
  approval: { completed: 1 },
  breaker: { completed: 2, dead: 3 },
  broadcast: { completed: 3 },
  choreography: { completed: 10, dead: 1 },
  context: { completed: 2 },
  "dead-letter": { completed: 1 },
  "dead-man": { completed: 1 },
  direct: { completed: 1 },
  "failure-policy": { cancelled: 2, completed: 1, dead: 1 },
  fallback: { completed: 1 },
  "fan-in": { completed: 4 },
  "planner-executor-critic": { completed: 2 },
  "quick-start": { completed: 1 },
  reservations: { completed: 2 },
  retry: { completed: 1 },
  "shared-context": { completed: 1 },
  "task-queue": { completed: 4 },
  worker: { completed: 5 },
};

/** Examples that run in memory and leave no store (test/testing/examples.test.ts runs them). */
const IN_MEMORY = ["testing-a-pipeline"];

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const addressOf = (example: string): string => `sqlite:${folder.file(`${example}.db`)}`;
const runs = new Map<string, Promise<Run>>();

/** For `node --import`: resolves "batonpass" to the published package, built once for all tests. */
const PUBLISHED = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({
    resolve: (name, context, next) => next(name === "batonpass" ? "${PACKAGE}" : name, context),
  });`)}`;

/** Runs an example once for all tests; one of them runs through `npm run example`. */
function run(example: string): Promise<Run> {
  const options = { env: { BATON_STORE: addressOf(example) } };
  const running =
    runs.get(example) ??
    (example === "quick-start"
      ? runScript("scripts/example.ts", [example], options)
      : runScript(`examples/${example}.ts`, [], { ...options, node: ["--import", PUBLISHED] }));
  runs.set(example, running);
  return running;
}

/** Runs an example, then checks what it left. */
async function afterRunning(
  example: string,
  check: (hub: Hub, run: Run) => Promise<void>,
): Promise<void> {
  const said = await run(example);
  expect(said).toMatchObject({ code: 0, stderr: "" });
  await using hub = await openHub(addressOf(example), { create: false });
  await check(hub, said);
}

/** Most examples wait more than they compute, so several run at once. */
describe("examples", { concurrent: true, timeout: 240_000 }, () => {
  it("are all listed in this file", () => {
    const examples = globSync("*.ts", { cwd: join(ROOT, "examples") });
    expect(examples.map((file) => file.replace(/\.ts$/, "")).sort()).toEqual(
      [...Object.keys(LEAVES), ...IN_MEMORY].sort(),
    );
  });

  it.each(Object.entries(LEAVES))(
    "%s leaves a store that verifies, with these deliveries: %j",
    async (example, left) => {
      await afterRunning(example, async (hub) => {
        expect((await hub.verify()).problems).toEqual([]);
        const { byState } = await hub.deliveries.totals();
        const states = Object.entries(byState).filter(([, count]) => count > 0);
        expect(Object.fromEntries(states)).toEqual(left);
      });
    },
  );

  it("quick-start: the coder completes the planner's handoff", async () => {
    await afterRunning("quick-start", async (hub, run) => {
      expect(run.stdout).toMatch(/Extract validateToken\(\)[\s\S]*completed\n$/);
      const [step, ...more] = await hub.tasks.line("auth-refactor");
      expect(more).toEqual([]);
      expect(step?.envelope).toMatchObject({
        from: { agent: "planner" },
        to: { kind: "agent", agent: "coder" },
        constraints: [{ level: "must", rule: "Do not touch the test fixtures" }],
      });
      expect(step?.deliveries).toMatchObject([{ state: "completed", holder: "coder" }]);
    });
  });

  it("planner → executor → critic: one chain from plan to result, with canonical names and constraint [CRD-6]", async () => {
    await afterRunning("planner-executor-critic", async (hub, run) => {
      const line = await hub.tasks.line("auth-refactor-2026-06-08");
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

      const aliases = (await hub.agents.list()).map(({ id, aliases }) => [id, ...aliases]);
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
      const everything = (await critic.memories.recent({ limit: 100 })).items;
      expect(everything.map(({ branch }) => branch)).toEqual(everything.map(() => "main"));
      expect(everything).toHaveLength(path.length);
      const printed = run.stdout.trimEnd().split("\n").slice(-path.length);
      expect(printed.map((text) => text.split(/ +/).slice(0, 2))).toEqual(path);
    });
  });

  it("direct: the sender sees the acceptance, then the result with each criterion confirmed", async () => {
    await afterRunning("direct", async (hub, { stdout }) => {
      expect(stdout).toMatch(/^accepted by coder\nresult: Three attempts.* \{ patch: /);
      const { envelope, delivery } = only(await hub.tasks.line("payment-retries"));
      expect(envelope.policy).toEqual({ acceptMs: 15_000, attempts: 3 });
      expect(delivery).toMatchObject({ holder: "coder", attempt: 1 });
      expect(delivery.acceptedAt).toBeGreaterThanOrEqual(delivery.sentAt);
      expect((await hub.memories.read(present(delivery.settledBy))).data).toEqual({
        criteria: { patch: ["The tests pass"] },
        outputs: { patch: "+ await retry(charge)" },
      });
    });
  });

  it("broadcast: each subscriber has its own delivery, the late one with a copy of the envelope", async () => {
    await afterRunning("broadcast", async (hub, { stdout }) => {
      expect(stdout).toMatch(/coder is completed\ntester is ready\n.*late, and gets 1\n/);
      expect(await hub.channels.subscribers("oauth-migration")).toEqual([
        "coder",
        "tester",
        "writer",
      ]);
      const [original, copy, ...more] = await hub.tasks.line("oauth-2.1");
      expect(more).toEqual([]);
      expect(original?.deliveries.map(({ receiver }) => receiver).sort()).toEqual([
        "coder",
        "tester",
      ]);
      expect(copy?.deliveries).toMatchObject([{ receiver: "writer", holder: "writer" }]);
      expect(copy?.envelope.parents).toEqual([original?.envelope.id]);
      expect(copy?.envelope.done).toEqual(original?.envelope.done);
      const [coder, tester] = [...(original?.deliveries ?? [])].sort((a, b) =>
        a.receiver < b.receiver ? -1 : 1,
      );
      expect(coder?.settledAt).toBeLessThanOrEqual(tester?.acceptedAt ?? 0);
    });
  });

  it("choreography: routes forward each handoff, and a line that loops is stopped with a reason", async () => {
    await afterRunning("choreography", async (hub, { stdout }) => {
      const path = async (task: string) =>
        (await hub.tasks.line(task)).map(({ envelope, deliveries }) => [
          envelope.hop,
          envelope.from.agent,
          deliveries[0]?.receiver,
        ]);
      const round = [
        [0, "planner", "coder"],
        [1, "coder", "role:critic"],
        [2, "critic", "coder"],
        [3, "coder", "role:critic"],
      ];
      expect(await path("fix-login")).toEqual([...round, [4, "critic", "role:publisher"]]);
      expect(await path("never-good-enough")).toEqual([
        ...round,
        [4, "critic", "coder"],
        [5, "coder", "role:critic"],
      ]);
      expect(stdout).toMatch(/fix-login is completed[\s\S]*never-good-enough is dead/);
      const [stopped, ...others] = (await hub.deadLetters.list()).items;
      expect(others).toEqual([]);
      expect(stopped?.attempts).toMatchObject([{ outcome: "stopped" }]);
      const { path: walked, ...why } = stopped?.attempts[0]?.reason ?? {};
      expect(stopped?.attempts[0]?.holder).toBeUndefined();
      expect(why).toEqual({ reason: "hop_limit", hop: 5, limit: 4 });
      expect((walked as readonly unknown[]).at(-1)).toMatchObject({ from: "critic", to: "coder" });
    });
  });

  it("shared-context: the proposal is adopted, and contradictions are reported", async () => {
    await afterRunning("shared-context", async (hub, { stdout }) => {
      expect(stdout).toMatch(/adopted\nconventions\/names is new, by lead\ncontradiction: /);
      expect(stdout).toMatch(/context_conflict: [^\n]*\nretired, set\n$/);
      const { items } = await hub.context.text();
      expect(items.map(({ key }) => key)).toEqual(["no-fixtures", "names", "orders"]);
    });
  });

  it("context: the coder gets the previewed view, and the constraint stays until it is released", async () => {
    await afterRunning("context", async (hub, { stdout }) => {
      expect(stdout).toMatch(
        /^\d+ of 210 tokens, left out: 1\n pins as full\n references as summary/,
      );
      expect(withoutNumbers(stdout)).toMatch(
        /You are coder[\s\S]*# «auth»: handed to coder[\s\S]*still: Do not touch/,
      );
      const [toCoder, toPlanner, ...more] = await hub.tasks.line("auth");
      expect(more).toEqual([]);
      const [shown] = await hub.deliveries.views(toCoder?.deliveries[0]?.id ?? "");
      expect(shown?.matches).toBe(true);
      expect(stdout).toContain(shown?.text);
      expect(shown?.tokens).toBeLessThanOrEqual(210);
      expect(toPlanner?.envelope.constraints).toEqual(toCoder?.envelope.constraints);
      expect(await hub.tasks.ledger("auth")).toMatchObject({
        constraints: [],
        released: [{ id: "no-fixtures", by: "planner" }],
      });
    });
  });

  it("reservations: the second holder is warned before it starts, until the first is done [CRD-7]", async () => {
    await afterRunning("reservations", async (hub, { stdout }) => {
      expect(stdout.trimEnd().split("\n")).toEqual([
        "conflicts of coder: 0",
        "coder works on src/auth/**: take care with src/*/login.ts",
        "reserved: coder, writer",
        "in the way now: 0",
        "reserved: 0",
      ]);
      expect((await hub.tasks.reservations()).items).toEqual([]);
    });
  });

  it("retry: two attempts fail with their reasons, the third completes the same delivery", async () => {
    await afterRunning("retry", async (hub, { stdout }) => {
      const { delivery } = only(await hub.tasks.line("deploy-42"));
      expect(delivery).toMatchObject({ attempt: 3, maxAttempts: 3, state: "completed" });
      expect(await hub.deliveries.attempts(delivery.id)).toMatchObject([
        { attempt: 1, outcome: "failed", holder: "deployer" },
        { attempt: 2, outcome: "failed", holder: "deployer" },
      ]);
      expect(stdout).toMatch(
        /^attempt 1: failed, .*503\nattempt 2: failed, .*503\nattempt 3: completed\n$/,
      );
    });
  });

  it("fallback: a receiver that fails to accept twice is replaced, without another hop", async () => {
    await afterRunning("fallback", async (hub, { stdout }) => {
      const { delivery, envelope } = only(await hub.tasks.line("review-17"));
      expect(envelope).toMatchObject({ hop: 0, to: { kind: "agent", agent: "reviewer" } });
      expect(delivery).toMatchObject({ receiver: "backup", holder: "backup", attempt: 3 });
      expect(await hub.deliveries.attempts(delivery.id)).toMatchObject([
        { attempt: 1, outcome: "accept_timeout" },
        { attempt: 2, outcome: "accept_timeout" },
      ]);
      expect(stdout).toMatch(/^accepted by backup at attempt 3\n/);
    });
  });

  it("dead-letter: redriving creates a new envelope, whose parent stays unchanged", async () => {
    await afterRunning("dead-letter", async (hub, { stdout }) => {
      const [first, second, ...more] = await hub.tasks.line("import-june");
      expect(more).toEqual([]);
      expect(first).toMatchObject({
        deliveries: [],
        envelope: { payload: { data: { file: "juen.csv" } } },
      });
      expect(second?.envelope).toMatchObject({
        payload: { data: { file: "june.csv" } },
        parents: [first?.envelope.id],
        hop: 0,
      });
      const [delivery] = second?.deliveries ?? [];
      expect(delivery).toMatchObject({ attempt: 2, state: "completed" });
      const [failed] = await hub.deliveries.attempts(delivery?.id ?? "");
      expect(failed).toMatchObject({ attempt: 1, outcome: "failed" });
      expect((await hub.deadLetters.list()).items).toEqual([]);
      expect(await kindsOf(hub)).toEqual([
        "sent",
        "accepted",
        "dead",
        "redriven",
        "accepted",
        "completed",
      ]);
      expect(stdout).toMatch(/import-june is dead: There is no juen.csv[\s\S]*is completed/);
    });
  });

  it("breaker: opens after three failures, refuses the fourth handoff, and closes after its probe", async () => {
    await afterRunning("breaker", async (hub, { stdout }) => {
      expect(stdout.trimEnd().split("\n")).toEqual([
        "one dead",
        "two dead",
        "three dead",
        "four circuit_open",
        "the coder's breaker is open",
        "five completed",
        "the coder's breaker is closed",
        "six completed",
      ]);
      const dead = (await hub.deadLetters.list()).items.map(({ delivery }) => delivery.task);
      expect(dead.sort()).toEqual(["one", "three", "two"]);
      expect(await hub.tasks.line("four")).toEqual([]);
      expect(await hub.agents.breakers()).toEqual([]);
      expect(await kindsOf(hub)).toContain("breaker_opened");
    });
  });

  it("fan-in: the join opens with all three results, and their envelopes as parents", async () => {
    await afterRunning("fan-in", async (hub, { stdout }) => {
      expect(stdout).toMatch(/^the report is scheduled\nthe report is ready\n/);
      const [sent, opened, ...more] = await hub.tasks.line("report");
      expect(more).toEqual([]);
      const tasks = ["cost", "speed", "licence"];
      const parts = await Promise.all(tasks.map(async (task) => only(await hub.tasks.line(task))));
      expect(sent?.envelope.joins).toEqual({
        deliveries: parts.map(({ delivery }) => delivery.id),
        need: 3,
      });
      expect(opened?.envelope.parents).toEqual([
        sent?.envelope.id,
        ...parts.map(({ envelope }) => envelope.id),
      ]);
      expect(opened?.envelope.results).toMatchObject(
        parts.map(({ delivery }) => ({
          task: delivery.task,
          agent: delivery.holder,
          memory: delivery.settledBy,
          outputs: { finding: `all about ${delivery.task}` },
        })),
      );
      const opening = parts.map(({ delivery }) => present(delivery.settledAt));
      expect(opened?.deliveries[0]?.acceptedAt).toBeGreaterThanOrEqual(Math.max(...opening));
    });
  });

  it("approval: a person asks, gets an answer within the same delivery, and approves", async () => {
    await afterRunning("approval", async (hub, { stdout }) => {
      expect(await hub.agents.list()).toContainEqual(
        expect.objectContaining({ id: "maria", kind: "person", role: "approver" }),
      );
      const [asked, answered, ...more] = await hub.tasks.line("release-42");
      expect(more).toEqual([]);
      expect(answered?.envelope.parents).toEqual([asked?.envelope.id]);
      expect(answered?.envelope.history.at(-1)).toMatchObject({
        agent: "deployer",
        did: "answered: Is there a way back?",
      });
      const [delivery] = answered?.deliveries ?? [];
      expect(delivery).toMatchObject({ receiver: "role:approver", holder: "maria" });
      expect((await hub.memories.read(delivery?.settledBy ?? "")).data).toMatchObject({
        outcome: "approved",
        outputs: { approval: { approved: true, comment: "Go, but not before 10." } },
      });
      expect(await kindsOf(hub)).toEqual([
        "sent",
        "accepted",
        "asked",
        "answered",
        "accepted",
        "completed",
      ]);
      expect(stdout).toMatch(/approved: true[\s\S]* Go, but not before 10\.\n$/);
    });
  });

  it("dead-man: the next holder gets the notes of the unresponsive one, whose late result is refused", async () => {
    await afterRunning("dead-man", async (hub, { stdout }) => {
      const [sent, reconstructed, ...more] = await hub.tasks.line("leak");
      expect(more).toEqual([]);
      expect(reconstructed?.envelope).toMatchObject({
        hop: 0,
        intent: sent?.envelope.intent,
        next: sent?.envelope.next,
        parents: [sent?.envelope.id],
        reconstructed: { attempt: 1, holder: "coder", notes: 2 },
        history: [
          { agent: "coder", did: "The heap grows by 2 MB for each reconnect." },
          { agent: "coder", did: "The listener in pool.ts is never removed." },
        ],
      });
      const [delivery] = reconstructed?.deliveries ?? [];
      expect(delivery).toMatchObject({ attempt: 2, instance: "terminal-2", state: "completed" });
      expect(await hub.deliveries.attempts(delivery?.id ?? "")).toMatchObject([
        { attempt: 1, outcome: "expired", instance: "terminal-1" },
      ]);
      expect(stdout).toMatch(/late answer: lease_lost\n$/);
    });
  });
});

/** Returns the only step of a line, with its only delivery. */
function only(line: readonly LineStep[]): LineStep & { delivery: LineStep["deliveries"][number] } {
  const [step, ...more] = line;
  const [delivery, ...others] = step?.deliveries ?? [];
  expect([...more, ...others]).toEqual([]);
  if (step === undefined || delivery === undefined) throw new Error("nothing was handed over");
  return { ...step, delivery };
}

/** Returns the kinds of all events, in order. */
async function kindsOf(hub: Hub): Promise<string[]> {
  return (await hub.events.list({ after: 0, limit: 1_000 })).items.map(({ kind }) => kind);
}

/**
 * Returns type and author of each record from the first to `id`, breadth first over its relations.
 */
async function trail(reader: Agent, id: string): Promise<[type: string, agent: string][]> {
  const seen = new Map<string, { seq: number; entry: [string, string] }>();
  const open = [id];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (seen.has(next)) continue;
    const { seq, type, agent } = await reader.memories.read(next);
    seen.set(next, { seq, entry: [type, agent] });
    const edges = (
      await reader.memories.relations(next, {
        kinds: ["continues-from", "summarizes"],
      })
    ).items;
    open.push(...edges.map((edge) => edge.target));
  }
  return [...seen.values()].sort((a, b) => a.seq - b.seq).map(({ entry }) => entry);
}
