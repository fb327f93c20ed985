/** Delivery on the command line: every step is a separate command on one store file. */

import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Draft, ERROR_CODES } from "../../src/index.ts";
import { present } from "../support/present.ts";
import type { Run } from "../support/run-script.ts";
import { until } from "../support/until.ts";
import { type TestStore, team, testStore } from "./baton.ts";

const exitOf = (code: keyof typeof ERROR_CODES): number => ERROR_CODES[code].exit;

/** Runs a command with --json that must succeed. Returns what it printed. */
async function data<T>(store: TestStore, ...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await store.baton(...args, "--json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as T;
}

/** Runs a command that must fail, with the exit code of the error table. Returns the error. */
const refusal = async (store: TestStore, ...args: string[]) =>
  errorOf(await store.baton(...args, "--json"));

function errorOf({ code, stdout, stderr }: Run) {
  const error = JSON.parse(stderr) as { code: keyof typeof ERROR_CODES; hint: string };
  expect({ code, stdout }).toEqual({ code: exitOf(error.code), stdout: "" });
  return error;
}

interface Row {
  readonly id: string;
  readonly state: string;
  readonly attempt: number;
  readonly receiver: string;
  readonly seenAt: number;
  readonly acceptedAt: number;
  readonly settledAt: number;
  readonly sentAt: number;
}
interface Sent {
  readonly deliveries: readonly Row[];
  readonly joined: string;
}
interface Accepted {
  readonly handle: string;
  readonly delivery: Row;
  readonly envelope: { readonly intent: string; readonly history: readonly { decided?: string }[] };
}

/** Sends a handoff through the SDK, for tests that are not about sending. */
async function sent(store: TestStore, draft: Partial<Draft> = {}): Promise<string> {
  await using hub = await store.open();
  const ada = await hub.agent("ada");
  return (await ada.handoff({ to: "ben", task: "t", intent: "Do it", ...draft })).id;
}

/** Sends a handoff that ben accepts with a session lease. */
async function held(store: TestStore, draft: Partial<Draft> = {}) {
  const id = await sent(store, draft);
  await using hub = await store.open();
  const ben = await hub.agent("ben", undefined, { lease: "session" });
  const { handle = "" } = (await ben.accept({ delivery: id })) ?? {};
  return { id, handle };
}

async function send(store: TestStore, ...args: string[]): Promise<Row> {
  const { deliveries } = await data<Sent>(store, "handoff", "send", "--as", "ada", ...args);
  return deliveries[0] as Row;
}

const accept = (store: TestStore, as: string, ...args: string[]): Promise<Accepted> =>
  data<Accepted>(store, "accept", "--as", as, ...args);

describe("baton handoff send", () => {
  it("sets the fields of the envelope from its options", async () => {
    using store = testStore();
    await team(store);
    const row = await send(
      store,
      ...["Fix the login", "--to", "ben", "--task", "login", "--action", "needs_review"],
      ...["--next", "Look", "--next", "Mend", "--done", "Found it", "--do-not-redo", "Bisecting"],
      ...["--constraint", "Keep the tests", "--constraint", "should: stay small"],
      ...["--payload", '{"line":3}', "--payload-type", "bug", "--state", "Half way"],
      ...["--priority", "high", "--delay", "2h", "--deadline", "1d", "--accept-within", "90s"],
      ...["--attempts", "2", "--fallback", "cyd", "--fallback", "role:coder", "--remind", "5m"],
      ...["--expect", "report:text", "--receipt"],
    );
    expect(row).toMatchObject({ state: "scheduled", receiver: "ben" });
    await using hub = await store.open();
    const { delivery, envelope } = await hub.deliveries.get(row.id);
    expect(envelope).toMatchObject({
      intent: "Fix the login",
      action: "needs_review",
      next: ["Look", "Mend"],
      done: ["Found it"],
      doNotRedo: ["Bisecting"],
      state: "Half way",
      constraints: [
        { level: "must", rule: "Keep the tests" },
        { level: "should", rule: "stay small" },
      ],
      payload: { type: "bug", data: { line: 3 } },
      priority: "high",
      expects: [{ name: "report", type: "text" }],
      receipt: true,
      policy: { acceptMs: 90_000, attempts: 2, fallback: ["cyd", "role:coder"], remindMs: 300_000 },
    });
    expect(present(delivery.deadline) - delivery.sentAt).toBeCloseTo(24 * 3_600_000, -4);
    expect(present(delivery.readyAt) - delivery.sentAt).toBeCloseTo(2 * 3_600_000, -4);
  });

  it("records the digest of each file, and of local artifacts of a draft [CTX-10]", async () => {
    using store = testStore();
    await team(store);
    const drafted = [
      { kind: "file", path: "README.md" },
      { kind: "file", path: "not/here" },
    ];
    const row = await send(
      store,
      ...["Read it", "--to", "ben", "--file", "package.json"],
      ...["--draft", JSON.stringify({ artifacts: drafted })],
    );
    await using hub = await store.open();
    const digestOf = (file: string): string => hash("sha256", readFileSync(file), "hex");
    expect((await hub.deliveries.get(row.id)).envelope.artifacts).toEqual([
      { kind: "file", path: "README.md", digest: digestOf("README.md") },
      { kind: "file", path: "not/here" },
      { kind: "file", path: "package.json", digest: digestOf("package.json") },
    ]);
    const run = await store.baton(
      ...["handoff", "send", "Read it", "--as", "ada", "--to", "ben", "--file", "not/here"],
    );
    expect(run.code).toBe(66);
  });

  it("returns the original handoff for the same key, refuses another body [DLV-9]", async () => {
    using store = testStore();
    await team(store);
    const words = ["--to", "ben", "--task", "t", "--key", "k1"];
    const first = await send(store, "One", ...words);
    const again = await data<Sent>(store, "handoff", "send", "--as", "ada", "One", ...words);
    expect(again).toMatchObject({ joined: "repeated", deliveries: [{ id: first.id }] });
    const other = await refusal(store, "handoff", "send", "--as", "ada", "Two", ...words);
    expect(other.code).toBe("idempotency_conflict");
  });

  it.each([
    [["--to", "ben", "--delay", "15"], "--delay", "15s, 5m, 2h"],
    [["--to", "ben", "--priority", "hihg"], "--priority", "Did you mean high?"],
    [["--to", "ben", "--payload", "{a:1}"], "--payload", "JSON"],
    [["--to", "ben", "--payload", "@/nowhere.json"], "--payload", "path"],
    [["--to", "ben", "--expect", "report"], "--expect", "report:text"],
    [["--to", "bne"], "to", 'Did you mean "ben"?'],
    [["--to", "role:codr"], "to", 'Did you mean "role:coder"?'],
    [["--to", "channel:nwes"], "to", 'Did you mean "news"?'],
    [[], "to", "baton route set"],
  ])("names the wrong option and gives a hint: %s", async (words, path, hint) => {
    using store = testStore();
    await team(store);
    const send = ["handoff", "send", "x", "--as", "ada", ...words, "--json"];
    const error = errorOf(await store.baton(...send));
    expect(error).toMatchObject({ path });
    expect(error.hint).toContain(hint);
  });
});

describe("baton handoff show", () => {
  it("shows when a handoff was stored, seen, accepted and completed [DLV-12]", async () => {
    using store = testStore();
    await team(store);
    const id = await sent(store, { policy: { backoff: { firstMs: 1, longestMs: 1 } } });
    const show = () => data<{ delivery: Row }>(store, "handoff", "show", id);
    const before = (await show()).delivery;
    expect(before.state).toBe("ready");
    expect(before).not.toHaveProperty("seenAt");
    expect(before).not.toHaveProperty("acceptedAt");
    const first = await accept(store, "ben");
    await store.baton("fail", first.handle, "no compiler", "--attempted", "make");
    const { handle } = await accept(store, "ben", "--wait", "1m");
    const held = (await show()).delivery;
    expect(held.state).toBe("accepted");
    expect(held).not.toHaveProperty("settledAt");
    await store.baton("complete", handle, "It compiles");
    const { delivery, ...rest } = await show();
    expect(delivery).toMatchObject({ state: "completed", attempt: 2 });
    expect(delivery.acceptedAt).toBeGreaterThanOrEqual(delivery.seenAt);
    expect(delivery.settledAt).toBeGreaterThanOrEqual(delivery.acceptedAt);
    expect(rest).toMatchObject({
      attempts: [{ attempt: 1, holder: "ben", outcome: "failed" }],
      result: { summary: "It compiles" },
      envelope: { intent: "Do it" },
    });
    const { stdout } = await store.baton("handoff", "show", id);
    for (const label of ["stored", "seen", "accepted", "completed"]) {
      expect(stdout).toMatch(new RegExp(`^ {2}${label} +\\d{4}-`, "m"));
    }
    expect(stdout).toMatch(/attempts +attempt 1 by ben failed .*: no compiler/);
    expect(stdout).toMatch(/result +It compiles/);
  });

  it("follows a handoff until it is settled [DLV-12]", async () => {
    using store = testStore();
    await team(store);
    const { id, handle } = await held(store);
    const following = store.process("handoff", "show", id, "--follow", "--timeout", "2m", "--json");
    await store.baton("complete", handle);
    const { code, stdout } = await following;
    expect(code).toBe(0);
    const rows = stdout
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text) as Row);
    expect(rows.at(-1)?.state).toBe("completed");
  });

  it("distinguishes a malformed id from an unknown one", async () => {
    using store = testStore();
    await team(store);
    expect((await refusal(store, "handoff", "show", "dlv_1")).code).toBe("invalid_input");
    const unknown = "dlv_00000000-0000-7000-8000-000000000000";
    expect((await refusal(store, "handoff", "show", unknown)).code).toBe("unknown_delivery");
  });
});

describe("baton accept", () => {
  it("prints a handle that works across processes [DLV-6]", async () => {
    using store = testStore();
    await team(store);
    await sent(store);
    const processes = { ...store, baton: store.process };
    const { handle, delivery, envelope } = await accept(processes, "ben");
    expect(handle).toBe(`${delivery.id}#1`);
    expect(envelope.intent).toBe("Do it");
    const noted = await data<object>(processes, "note", handle, "Step one", "--type", "finding");
    expect(noted).toMatchObject({ kind: "noted", memory: { agent: "ben", type: "finding" } });
    expect(await data<Row>(processes, "complete", handle, "Done")).toMatchObject({
      state: "completed",
    });
    expect((await refusal(processes, "complete", handle, "Again")).code).toBe("lease_lost");
  });

  it("prints the handle, the primer and the commands that show more [CTX-7]", async () => {
    using store = testStore();
    await team(store);
    await sent(store, { to: "role:coder", next: ["Look"] });
    const { stdout } = await store.baton("accept", "--as", "cyd");
    expect(stdout).toMatch(/^dlv_.*#1\n/);
    expect(stdout).toMatch(/You are cyd[\s\S]*Do it[\s\S]*Do now[\s\S]*Look/);
    expect(stdout).toMatch(/baton view dlv_.*#1; all fields: baton handoff show dlv_/);
  });

  it("prints null if nothing is ready, and says why a delivery cannot be claimed", async () => {
    using store = testStore();
    await team(store);
    expect(await accept(store, "ben")).toBeNull();
    const id = await sent(store);
    expect(await refusal(store, "accept", id, "--as", "ada")).toMatchObject({
      code: "not_open",
      message: expect.stringContaining("it is addressed to ben"),
    });
    await accept(store, "ben", id);
    expect(await refusal(store, "accept", id, "--as", "ben")).toMatchObject({
      message: expect.stringContaining("ben holds it"),
    });
  });

  it("requires the receipt a handoff asks for, and names what is missing [DLV-11]", async () => {
    using store = testStore();
    await team(store);
    await sent(store, { constraints: ["Keep the tests"], receipt: true });
    const { code, hint } = await refusal(store, "accept", "--as", "ben");
    expect(code).toBe("receipt_required");
    const id = /--receipt-constraint (\S+)/.exec(hint)?.[1] ?? "";
    const said = ["--receipt-goal", "Do it", "--receipt-first-step", "Look"];
    const short = await refusal(store, "accept", "--as", "ben", ...said);
    expect(short.code).toBe("receipt_required");
    const { delivery } = await accept(store, "ben", ...said, "--receipt-constraint", id);
    expect(delivery).toMatchObject({ state: "accepted", attempt: 1 });
  });
});

describe("work addressed by its handle", () => {
  it("is completed only with every expected output [DLV-15]", async () => {
    using store = testStore();
    const expects = [
      { name: "report", type: "text" },
      { name: "tests", type: "number", criteria: ["all green"] },
    ];
    await team(store);
    const { handle } = await held(store, { expects });
    const none = await refusal(store, "complete", handle, "Done");
    expect(none).toMatchObject({ code: "invalid_result" });
    expect(none.hint).toContain("--output");
    const typo = await refusal(store, "complete", handle, "--output", "reprot=x");
    expect(typo.hint).toBe("Did you mean report?");
    const unmet = await refusal(store, "complete", handle, "--met", "all gren");
    expect(unmet.hint).toBe("Did you mean all green?");
    const outputs = ["--output", "report=12", "--output", "tests=7", "--met", "all green"];
    const { id } = await data<Row>(store, "complete", handle, ...outputs);
    await using hub = await store.open();
    expect((await hub.deliveries.get(id)).result?.outputs).toEqual({ report: "12", tests: 7 });
  });

  it("can be released, failed permanently or declined", async () => {
    using store = testStore();
    await team(store);
    const first = await held(store);
    const released = await data<Row>(store, "release", first.handle);
    expect(released).toMatchObject({ state: "ready", attempt: 1 });
    const second = await accept(store, "ben");
    const failed = await data<Row>(store, "fail", second.handle, "no", "--permanent");
    expect(failed).toMatchObject({ state: "dead" });
    const { id, handle } = await held(store, { task: "u" });
    await data<Row>(store, "decline", handle, "not my field");
    await using hub = await store.open();
    expect(await hub.deliveries.get(id)).toMatchObject({
      delivery: { state: "declined" },
      reason: "not my field",
    });
  });

  it("is not settled before its holder has seen what the sender added", async () => {
    using store = testStore();
    await team(store);
    const { handle, id } = await held(store);
    const heldSince = Date.now();
    await until("a later millisecond than the acceptance's", () => Date.now() > heldSince);
    expect(await sent(store, { intent: "Do it better" })).toBe(id);
    const error = await refusal(store, "complete", handle, "Done");
    expect(error.code).toBe("work_extended");
    const [, envelope = ""] = /--seen (env_\S+)/.exec(error.hint) ?? [];
    const row = await data<Row>(store, "complete", handle, "Done", "--seen", envelope);
    expect(row.state).toBe("completed");
  });

  it("is handed on with its constraints in one step [DLV-4]", async () => {
    using store = testStore();
    await team(store);
    const { handle, id } = await held(store, { constraints: ["Keep the tests"] });
    const words = ["--continue", handle, "--to", "cyd", "--next", "Review"];
    const { deliveries } = await data<Sent>(store, "handoff", "send", ...words);
    await using hub = await store.open();
    expect((await hub.deliveries.get(id)).delivery.state).toBe("completed");
    const { envelope } = await hub.deliveries.get(deliveries[0]?.id ?? "");
    expect(envelope).toMatchObject({
      intent: "Do it",
      hop: 1,
      from: { agent: "ben" },
      constraints: [{ rule: "Keep the tests" }],
    });
  });

  it("waits for the answer to a question, and is redelivered with it [DLV-11]", async () => {
    using store = testStore();
    await team(store);
    const { handle, id } = await held(store);
    expect(await data<Row>(store, "clarify", handle, "Which port?")).toMatchObject({
      state: "waiting",
    });
    const asked = await data<object[]>(store, "questions", "--as", "ada");
    expect(asked).toMatchObject([{ question: "Which port?", delivery: { id } }]);
    expect((await store.baton("questions", "--as", "ada")).stdout).toContain("Which port?");
    await data(store, "answer", id, "8080", "--as", "ada");
    expect(await data(store, "questions", "--as", "ada")).toEqual([]);
    const again = await accept(store, "ben");
    expect(again.envelope.history).toMatchObject([{ decided: "8080" }]);
  });

  it("keeps tagged notes after its lease is lost, and cannot be settled [DLV-6]", async () => {
    using store = testStore();
    await team(store);
    await sent(store);
    const { handle, delivery } = await accept(store, "ben", "--lease", "100ms");
    {
      await using hub = await store.open();
      await until("its lease has run out", async () => {
        const { leaseUntil } = (await hub.deliveries.get(delivery.id)).delivery;
        return Date.now() > present(leaseUntil);
      });
    }
    const next = await accept(store, "ben");
    expect(next.handle).not.toBe(handle);
    const { code, stdout } = await store.baton("note", handle, "Late", "--as", "ben", "--json");
    expect(code).toBe(exitOf("lease_lost"));
    expect(JSON.parse(stdout)).toMatchObject({ kind: "kept", memory: { tags: ["stale-holder"] } });
    expect((await refusal(store, "fail", handle, "no", "--as", "ben")).code).toBe("lease_lost");
    expect((await refusal(store, "complete", "dlv_1#2")).code).toBe("invalid_input");
    expect((await store.baton("verify")).code).toBe(0);
  });
});

describe("dead letters", () => {
  /** Sends a handoff that ben fails on its only attempt. Returns the delivery id. */
  async function dead(store: TestStore, task = "t"): Promise<string> {
    await using hub = await store.open();
    const ada = await hub.agent("ada");
    const ben = await hub.agent("ben");
    const draft = { to: "ben", task, intent: "Do it", policy: { attempts: 1 } };
    const { id } = await ada.handoff(draft);
    await (await ben.accept({ delivery: id }))?.fail({ message: "no disk" });
    return id;
  }

  it("can be listed with every attempt, redriven with changes, and discarded [DLV-7]", async () => {
    using store = testStore();
    await team(store);
    const id = await dead(store);
    const { items: listed } = await data<{ items: object[] }>(
      store,
      "dead",
      "list",
      "--receiver",
      "ben",
    );
    expect(listed).toMatchObject([{ delivery: { id }, attempts: [{ outcome: "failed" }] }]);
    expect(await data(store, "dead", "list", "--task", "other")).toEqual({ items: [] });
    const { stdout } = await store.baton("dead", "show", id);
    expect(stdout).toMatch(/attempts +attempt 1 by ben failed .*: no disk/);
    const words = ["--as", "ada", "--to", "cyd", "--next", "Free some space"];
    const redriven = await data<Row>(store, "dead", "redrive", id, ...words);
    expect(redriven).toMatchObject({ id, state: "ready", receiver: "cyd" });
    const work = await accept(store, "cyd");
    expect(work.envelope).toMatchObject({ intent: "Do it", next: ["Free some space"] });
    await store.baton("fail", work.handle, "broken", "--permanent");
    const gone = await data<Row>(store, "dead", "discard", id, "not needed", "--as", "ada");
    expect(gone.state).toBe("cancelled");
    const late = await refusal(store, "dead", "redrive", id, "--as", "ada");
    expect(late.code).toBe("not_open");
  });

  it("open the receiver's circuit breaker, which can be listed and reset [DLV-8]", async () => {
    using store = testStore();
    await team(store);
    for (const task of ["a", "b", "c"]) await dead(store, task);
    const open = await data<object[]>(store, "breaker", "list");
    expect(open).toMatchObject([{ receiver: "ben", state: "open" }]);
    const words = ["handoff", "send", "x", "--as", "ada", "--to", "ben", "--task", "d"];
    const error = await refusal(store, ...words);
    expect(error).toMatchObject({ code: "circuit_open" });
    expect(error.hint).toContain("baton breaker reset ben");
    expect((await refusal(store, "breaker", "reset", "bne")).hint).toContain("ben");
    await data(store, "breaker", "reset", "ben");
    expect(await data(store, "breaker", "list")).toEqual([]);
    expect((await store.baton(...words)).code).toBe(0);
  });
});

describe("baton cancel", () => {
  it("cancels a handoff; the holder's next call fails with cancelled [DLV-18]", async () => {
    using store = testStore();
    await team(store);
    const { id, handle } = await held(store);
    const words = ["cancel", id, "--as", "ada", "--reason", "changed my mind"];
    expect(await data<Row[]>(store, ...words)).toMatchObject([{ id, state: "cancelled" }]);
    expect((await refusal(store, "complete", handle, "--as", "ben")).code).toBe("cancelled");
    expect((await store.baton("handoff", "show", id)).stdout).toMatch(/reason +changed my mind/);
    expect((await refusal(store, ...words)).code).toBe("not_open");
  });

  it("cancels every open handoff of a task [DLV-18]", async () => {
    using store = testStore();
    await team(store);
    await sent(store);
    await sent(store, { to: "cyd" });
    await sent(store, { to: "cyd", task: "u" });
    const words = ["cancel", "--task", "t", "--as", "ada", "--reason", "no more"];
    expect(await data<Row[]>(store, ...words)).toHaveLength(2);
    expect(await data<Row[]>(store, ...words)).toEqual([]);
    expect((await refusal(store, "cancel", "--as", "ada", "--reason", "x")).code).toBe(
      "invalid_input",
    );
  });
});

describe("channels, routes and agents", () => {
  it("publishes to every subscriber, and replays for a later one [DLV-3]", async () => {
    using store = testStore();
    await team(store);
    await using hub = await store.open();
    for (const name of ["ben", "cyd"]) await (await hub.agent(name)).channels.subscribe("news");
    const words = ["channel", "publish", "news", "Hear this", "--as", "ada", "--task", "t"];
    const { deliveries } = await data<Sent>(store, ...words);
    expect(deliveries.map(({ receiver }) => receiver).sort()).toEqual(["ben", "cyd"]);
    const late = ["channel", "subscribe", "news", "--as", "pat", "--from", "start"];
    expect(await data(store, ...late)).toMatchObject({ replayed: 1 });
    expect(await data(store, "channel", "list")).toEqual([
      { name: "news", state: "open", subscribers: ["ben", "cyd", "pat"] },
    ]);
    expect((await refusal(store, "channel", "pause", "nwes")).hint).toContain('"news"');
    await store.baton("channel", "pause", "news");
    const paused = await refusal(store, ...words);
    expect(paused).toMatchObject({
      code: "channel_paused",
      hint: "Open it: baton channel open news",
    });
    await store.baton("channel", "close", "news");
    expect((await refusal(store, ...words)).code).toBe("channel_closed");
    expect(await data(store, "channel", "open", "news")).toEqual({ name: "news", state: "open" });
    await store.baton("channel", "unsubscribe", "news", "--as", "ben");
    expect(await hub.channels.subscribers("news")).toEqual(["cyd", "pat"]);
  });

  it("routes a handoff without a receiver by its action [DLV-4]", async () => {
    using store = testStore();
    await team(store);
    await data(store, "route", "set", "review", "--action", "needs_review", "--to", "cyd");
    expect(await data(store, "route", "list")).toEqual([
      { name: "review", to: "cyd", when: { action: "needs_review" } },
    ]);
    const row = await send(store, "Check it", "--task", "t", "--action", "needs_review");
    expect(row.receiver).toBe("cyd");
    expect((await refusal(store, "route", "drop", "reveiw")).hint).toBe("Did you mean review?");
    await data(store, "route", "drop", "review");
    expect(await data(store, "route", "list")).toEqual([]);
  });

  it("keeps the inbox of a paused agent, and delivers nothing to it", async () => {
    using store = testStore();
    await team(store);
    await sent(store);
    expect(await data(store, "agent", "pause", "ben")).toMatchObject({ status: "paused" });
    expect(await accept(store, "ben")).toBeNull();
    expect((await store.baton("accept", "--as", "ben")).stdout).toContain("baton agent resume ben");
    expect((await data<{ items: object[] }>(store, "inbox", "ben")).items).toHaveLength(1);
    expect(await data(store, "agent", "resume", "ben")).toMatchObject({ status: "active" });
    expect((await accept(store, "ben")).delivery.state).toBe("accepted");
  });

  it("creates the store when the first agent is added", async () => {
    using store = testStore();
    const words = ["agent", "add", "ada", "--role", "planner", "--alias", "ada-2"];
    expect(await data(store, ...words)).toMatchObject({ id: "ada", aliases: ["ada-2"] });
    expect(await data(store, "agents")).toMatchObject([{ id: "ada", role: "planner" }]);
  });
});
