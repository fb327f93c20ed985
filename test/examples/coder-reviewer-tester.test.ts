/**
 * The exercise of a coder, a reviewer and a tester, played on every store and run as a process; its
 * claims are checked in the store and in its project folder.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { pathToFileURL } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as exercise from "../../examples/coder-reviewer-tester/exercise.ts";
import {
  MESSAGES,
  messageSchemas,
  registerMessages,
} from "../../examples/coder-reviewer-tester/messages.ts";
import { Project } from "../../examples/coder-reviewer-tester/project.ts";
import {
  FIRST_HANDLER,
  FIRST_TEST,
  FIXES,
  HANDLER,
  TEST,
} from "../../examples/coder-reviewer-tester/sources.ts";
import type { Exercise } from "../../src/cli/demo/team-demo.ts";
import { type Envelope, type Hub, openHub } from "../../src/index.ts";
import { openFresh, refusal, STORES, type StoreName, tempFolder } from "../support/hub/support.ts";
import { testSchema } from "../support/postgres/schema.ts";
import { runScript } from "../support/run-script.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const TASK = "users-api";
const ENDPOINT = `${TASK}/endpoint`;

/** The exercise as the command line uses it. */
const { playTeam, storyOf, endsOf, messagesOf }: Exercise = exercise;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

interface Stage extends AsyncDisposable {
  readonly hub: Hub;
  readonly project: Project;
}

/** Plays the exercise on a store, once for all the tests that check what it left. */
async function played(store: StoreName): Promise<Stage> {
  const folder = temporaryFolder();
  const schema = store === "postgres" ? testSchema() : undefined;
  const local = store === "memory" ? "memory:" : `sqlite:${folder.file("hub.db")}`;
  const hub = await openHub(schema?.address ?? local);
  const project = new Project(folder.file("project"));
  await project.begin();
  await playTeam(hub, { folder: project.folder });
  return {
    hub,
    project,
    async [Symbol.asyncDispose]() {
      await hub.close();
      await schema?.[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

async function envelopesOf(hub: Hub, task: string): Promise<Envelope[]> {
  return (await hub.tasks.line(task)).map(({ envelope }) => envelope);
}

describe.each(STORES)("the team exercise on %s", (store) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await played(store);
  }, 240_000);
  afterAll(() => stage?.[Symbol.asyncDispose]());

  it("hands the endpoint on to write, review, fix, approve and test it, with typed payloads [CRD-5]", async () => {
    const { hub } = stage;
    const line = await envelopesOf(hub, ENDPOINT);
    expect(line.map(({ from, action, to }) => [from.agent, action, to])).toEqual([
      ["coordinator", "delegated", { kind: "role", role: "coder" }],
      ["coder", "needs_review", { kind: "role", role: "reviewer" }],
      ["reviewer", "changes_requested", { kind: "agent", agent: "coder" }],
      ["coder", "needs_review", { kind: "role", role: "reviewer" }],
      ["reviewer", "approved", { kind: "agent", agent: "coder" }],
      ["coder", "needs_test", { kind: "role", role: "tester" }],
    ]);
    expect(line.map(({ hop }) => hop)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(line.slice(1).map(({ parents }) => parents)).toEqual(
      line.slice(0, -1).map(({ id }) => [id]),
    );
    const types = line.map(({ payload }) => payload?.type ?? "");
    expect(types).toEqual(["job", "change", "review", "change", "review", "test-request"]);
    for (const { payload } of line) {
      const schema = MESSAGES[payload?.type as keyof typeof MESSAGES];
      expect(schema.parse(payload?.data)).toEqual(payload?.data);
    }
  });

  it("contains a real defect, which the review finds at its line and the fix removes [CRD-5]", async () => {
    const { hub, project } = stage;
    const [, first, review, second] = await envelopesOf(hub, ENDPOINT);
    expect(first?.payload?.data).toMatchObject({ files: filesOf(FIRST_HANDLER, FIRST_TEST) });
    expect(review?.payload?.data).toMatchObject({
      verdict: "changes_requested",
      findings: [
        { rule: "unknown-id", severity: "blocker", file: HANDLER, line: lineOf("users.get(") },
        { rule: "untested-404", severity: "major", file: TEST },
      ],
    });
    const fixed = { handler: await project.read(HANDLER), test: await project.read(TEST) };
    expect(fixed.handler).toBe(FIXES["unknown-id"]?.(FIRST_HANDLER));
    expect(second?.payload?.data).toMatchObject({
      fixes: ["unknown-id", "untested-404"],
      files: filesOf(fixed.handler, fixed.test),
    });
    expect(await answerTo("/users/99", FIRST_HANDLER)).toEqual({ status: 200, body: "" });
    expect(await answerTo("/users/99", fixed.handler)).toEqual({
      status: 404,
      body: '{"error":"There is no user 99"}',
    });
    expect(await project.test()).toEqual({ outcome: "passed", tests: 2, passed: 2, failed: 0 });
  });

  it("retries a retryable failure by the handoff's policy and records it [CRD-5]", async () => {
    const { hub } = stage;
    const step = (await hub.tasks.line(ENDPOINT)).at(-1);
    const [delivery] = step?.deliveries ?? [];
    expect(delivery).toMatchObject({ state: "completed", attempt: 2, holder: "tester" });
    const attempts = await hub.deliveries.attempts(delivery?.id ?? "");
    expect(attempts).toMatchObject([{ attempt: 1, outcome: "failed", holder: "tester" }]);
    expect(attempts[0]?.reason).toEqual({
      type: "busy",
      class: "retryable",
      attempted: "node --test",
      message: "test.lock: nightly runs its tests",
      hints: ["Try again when that run has ended"],
    });
    const [mistake] = (await hub.memories.recent({ task: ENDPOINT, type: "mistake" })).items;
    expect(mistake?.data?.["decision"]).toMatchObject({ decision: "retry", by: "policy", of: 3 });
    const result = await hub.memories.read(delivery?.settledBy ?? "");
    expect(result.data).toMatchObject({
      outcome: "passed",
      outputs: { report: { outcome: "passed", tests: 2, passed: 2, failed: 0 } },
    });
    // No coordinator had to decide.
    expect((await hub.failures.list({ task: ENDPOINT })).items).toEqual([]);
  });

  it("reports the reservation conflict before the failure it causes [CRD-5]", async () => {
    const { hub } = stage;
    const { items: steps } = await hub.tasks.timeline(ENDPOINT);
    const warned = steps.findIndex(({ text }) => text.includes("nightly has reserved test.lock"));
    const failed = steps.findIndex(({ kind }) => kind === "failed");
    expect(warned).toBeGreaterThan(0);
    expect(failed).toBeGreaterThan(warned);
    expect((await hub.tasks.reservations()).items).toEqual([]);
  });

  it.each([
    {
      part: "types",
      failure: { type: "missing_type", hints: [expect.stringContaining("api/types.d.ts")] },
      decided: { decision: "reroute", to: "role:architect", reason: /rule "missing-type"/ },
      left: { state: "completed", receiver: "role:architect", holder: "architect", attempt: 2 },
    },
    {
      part: "export",
      failure: {
        type: "missing_dependency",
        hints: [expect.stringContaining("no-dependencies"), expect.stringContaining("CSV")],
      },
      decided: { decision: "abort", to: undefined, reason: /^constraints\/no-dependencies: / },
      left: { state: "dead", receiver: "role:coder", holder: "coder", attempt: 1 },
    },
  ])(
    "reports a permanent failure ($part) and links the decision to it [CRD-5]",
    async ({ part, failure, decided, left }) => {
      const { hub } = stage;
      const task = `${TASK}/${part}`;
      const [given, report, ...more] = await hub.tasks.line(task);
      expect(more).toEqual([]);
      expect(given?.deliveries).toMatchObject([left]);
      expect(report?.envelope).toMatchObject({
        action: "failed",
        from: { agent: "baton" },
        to: { kind: "role", role: "coordinator" },
        parents: [given?.envelope.id],
        failure: { ...failure, class: "permanent", by: "coder", retries: 0 },
      });
      expect(report?.deliveries).toMatchObject([{ state: "completed", holder: "coordinator" }]);
      const [listed, ...others] = (await hub.failures.list({ task })).items;
      expect(others).toEqual([]);
      expect(listed?.decision).toMatchObject({ by: "coordinator", decision: decided.decision });
      expect(listed?.decision?.to).toBe(decided.to);
      expect(listed?.decision?.reason).toMatch(decided.reason);
      const record = await hub.memories.read(listed?.decision?.record ?? "");
      const [mistake] = (await hub.memories.recent({ task, type: "mistake" })).items;
      const reported = (await hub.tasks.timeline(task)).items.find(
        ({ kind }) => kind === "reported",
      );
      expect(record).toMatchObject({ type: "decision", agent: "coordinator" });
      const causes = record.relations?.filter(({ kind }) => kind === "caused-by") ?? [];
      expect(causes.map(({ to }) => to)).toEqual([mistake?.id, reported?.memory]);
    },
  );

  it("ends every task with a reason, and starts docs only after the tasks it waits for [CRD-5]", async () => {
    const { hub } = stage;
    const { tasks } = await hub.tasks.timeline(TASK, { children: true });
    const infos = await Promise.all(tasks.map((task) => hub.tasks.get(task)));
    const ends = infos.map(({ task, state, closed }) => [task, state, closed?.by]);
    expect(ends.sort()).toEqual([
      [TASK, "done", "coordinator"],
      [`${TASK}/docs`, "done", "coder"],
      [`${TASK}/endpoint`, "done", "tester"],
      [`${TASK}/export`, "failed", "coordinator"],
      [`${TASK}/types`, "done", "architect"],
    ]);
    expect(infos.every(({ closed }) => closed !== undefined && closed.reason !== "")).toBe(true);
    const docs = (await hub.tasks.line(`${TASK}/docs`)).at(-1);
    const accepted = await hub.memories.read(docs?.deliveries[0]?.acceptedBy ?? "");
    for (const part of ["endpoint", "types"]) {
      const { closed } = await hub.tasks.get(`${TASK}/${part}`);
      expect(accepted.seq).toBeGreaterThan((await hub.memories.read(closed?.record ?? "")).seq);
    }
    const results = docs?.envelope.results?.map(({ task, summary }) => [task, summary]);
    expect(results).toEqual([
      [ENDPOINT, "2 of 2 tests pass."],
      [`${TASK}/types`, "User is defined in api/types.d.ts; api/users.d.ts uses it."],
    ]);
  });

  it("adopts a proposal into the shared context, and the coder follows it [CRD-5]", async () => {
    const { hub } = stage;
    const history = (await hub.context.history("conventions", "error-body")).items;
    expect(history).toMatchObject([{ kind: "set", by: "coordinator" }]);
    expect(history[0]).not.toHaveProperty("was");
    expect(history[0]?.reason).toContain("reviewer");
    const { omitted, items } = await hub.context.text({ role: "coder" });
    expect(omitted).toEqual([]);
    expect(items.map(({ section, key }) => `${section}/${key}`).sort()).toEqual([
      "constraints/no-dependencies",
      "conventions/error-body",
      "conventions/json-only",
      "decisions/api-style",
      "project/branch",
      "project/files",
    ]);
    const notes = (await hub.memories.recent({ task: ENDPOINT, agent: "coder", type: "step" }))
      .items;
    expect(notes[0]?.content).toMatch(/Follows conventions\/error-body\.$/);
  });

  it("leaves nothing open and a store that verifies [CRD-5]", async () => {
    const { hub, project } = stage;
    expect((await hub.verify()).problems).toEqual([]);
    const { byState } = await hub.deliveries.totals();
    const left = Object.entries(byState).filter(([, count]) => count > 0);
    expect(Object.fromEntries(left)).toEqual({ completed: 13, dead: 1 });
    expect((await hub.failures.list({ undecided: true })).items).toEqual([]);
    expect(project.has("test.lock")).toBe(false);
  });

  it("has a story that says who failed, who decided, and why [CRD-5]", async () => {
    const { hub } = stage;
    const story = await storyOf(hub, TASK);
    const text = story.join("\n");
    expect(text).toMatch(
      /types +coder: FAILED, attempt 1, permanent \(missing_type\)[\s\S]*hint: Define User[\s\S]*types +coordinator: DECIDED to reroute to role:architect\n +because: By the rule/,
    );
    expect(text).toMatch(
      /export +coder: FAILED[\s\S]*coordinator: DECIDED to abort\n +because: constraints\/no-dependencies/,
    );
    expect(text).toMatch(
      /tester: FAILED, attempt 1, retryable \(busy\)[\s\S]*DECIDED by its policy: retry[\s\S]*tester: 2 of 2 tests pass\./,
    );
    expect(text.match(/FAILED/g)).toHaveLength(3);
    expect(text.match(/DECIDED/g)).toHaveLength(3);
    expect(text).toContain("coordinator: adopted conventions/error-body");
    const all = [...story, ...(await endsOf(hub, TASK))];
    expect(all.length).toBeLessThan(60);
    expect(Math.max(...all.map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  it("returns its messages in the order they were sent [CRD-5]", async () => {
    const { hub } = stage;
    const messages = await messagesOf(hub, TASK);
    const times = messages.map(({ metadata }) => metadata.createdAt);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(messages.filter(({ failure }) => failure !== undefined)).toHaveLength(2);
    expect(messages.map(({ id }) => id)).toEqual([...new Set(messages.map(({ id }) => id))]);
    expect(messages).toContainEqual(expect.objectContaining({ action: "needs_test" }));
  });
});

describe("the messages of the team exercise", () => {
  it("are refused with every violation when they are malformed, and not delivered [CRD-5]", async () => {
    const hub = await openFresh("memory");
    await registerMessages(hub);
    const reviewer = await hub.agent("reviewer", { role: "reviewer" });
    const coder = await hub.agent("coder", { role: "coder" });
    const error = await refusal(
      reviewer.handoff({
        to: "coder",
        intent: "Mend it",
        payload: { type: "review", data: { verdict: "fine", findings: "none" } },
      }),
    );
    expect(error.code).toBe("invalid_payload");
    const paths = error.violations.map(({ path }) => path);
    expect(paths.sort()).toEqual(["payload.data.findings", "payload.data.verdict"]);
    expect(await coder.accept()).toBeUndefined();
  });

  it("have JSON Schemas, by which the sent messages are valid [CRD-5]", async () => {
    const schemas = messageSchemas();
    expect(Object.keys(schemas)).toEqual(["action", ...Object.keys(MESSAGES)]);
    const hub = await openFresh("memory");
    await playTeam(hub, { folder: tempFolder() });
    const ajv = new Ajv2020({ strict: false });
    for (const { payload } of await envelopesOf(hub, ENDPOINT)) {
      const validate = ajv.compile(schemas[payload?.type ?? ""] ?? false);
      expect(validate(payload?.data), payload?.type).toBe(true);
    }
    expect(ajv.compile(schemas["review"] ?? {})({ verdict: "approved" })).toBe(false);
  });
});

describe("npm run example -- coder-reviewer-tester", () => {
  it("runs the exercise in its own process, and again on the same store as another task [CRD-5]", async () => {
    using folder = temporaryFolder();
    const store = `sqlite:${folder.file("hub.db")}`;
    const env = { BATON_STORE: store, TMPDIR: folder.path };
    const run = (...args: string[]) =>
      runScript("scripts/example.ts", ["coder-reviewer-tester", ...args], { env });
    const left = new Project(folder.file("project"));
    await left.begin();
    const first = await run("--folder", left.folder);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toContain("tester: 2 of 2 tests pass.");
    expect(first.stdout).toContain(left.folder);
    expect((await left.test()).outcome).toBe("passed");

    const again = await run("--json");
    expect(again).toMatchObject({ code: 0, stderr: "" });
    const messages = JSON.parse(again.stdout) as Envelope[];
    expect(new Set(messages.map(({ task }) => task.split("/")[0]))).toEqual(new Set([`${TASK}-2`]));
    await using hub = await openHub(store, { create: false });
    expect((await hub.verify()).problems).toEqual([]);
    expect((await hub.deliveries.totals()).byState).toMatchObject({
      dead: 2,
      ready: 0,
      accepted: 0,
    });
  }, 240_000);
});

const filesOf = (handler: string, test: string) => [
  { path: HANDLER, digest: sha256(handler) },
  { path: TEST, digest: sha256(test) },
];

const lineOf = (text: string): number =>
  FIRST_HANDLER.split("\n").findIndex((line) => line.includes(text)) + 1;

/** Returns the response of a handler to an HTTP request. */
async function answerTo(path: string, handler: string): Promise<{ status: number; body: string }> {
  const project = new Project(tempFolder());
  await project.begin();
  await project.write(HANDLER, handler);
  const { href } = pathToFileURL(`${project.folder}/${HANDLER}`);
  const { server } = (await import(/* @vite-ignore */ href)) as { server: Server };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  const answer = { status: response.status, body: await response.text() };
  server.close();
  return answer;
}
