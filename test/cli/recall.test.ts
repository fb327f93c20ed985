/** `baton recall` and `baton embed`: output as text and as JSON. */
import { describe, expect, it } from "vitest";
import { baton, type TestStore, testStore } from "./baton.ts";

async function fill(store: TestStore) {
  await using hub = await store.open();
  const planner = await hub.agent("planner", { role: "planner" });
  const old = await planner.remember({
    type: "decision",
    task: "api",
    content: "We chose REST over GraphQL because mobile clients cache better.",
    session: "spring",
  });
  const now = await planner.remember({
    type: "decision",
    content: "The API moves to gRPC.",
    session: "autumn",
    relations: [{ kind: "supersedes", to: old.id }],
  });
  await planner.remember({ content: "Only I know the REST password rule.", scope: "agent" });
  return { old, now };
}

async function send(store: TestStore) {
  await using hub = await store.open();
  const planner = await hub.agent("planner", {});
  const payload = { type: "note", data: { remark: "The heliograph needs mirrors." } };
  return await planner.handoff({ to: "planner", task: "signal", intent: "Signal", payload });
}

describe("baton recall", () => {
  it("shows ranked hits with author, age and reason; marks superseded ones [MEM-8]", async () => {
    using store = testStore();
    const { old, now } = await fill(store);
    const { code, stdout } = await store.baton("recall", "why did we choose REST?", "--explain");
    expect(code).toBe(0);
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(/^ 1 {2}decision {2}planner, moments ago, mem_/);
    expect(lines[0]).toContain(now.id);
    expect(stdout).toContain(`superseded decision  planner on api, moments ago, ${old.id}`);
    expect(stdout).toContain(`was superseded by ${now.id}`);
    expect(stdout).toContain('contains "choose", "rest"');
    expect(stdout).toMatch(/\d\.\d\d = \(.*words \d\.\d\d/);
    expect(stdout).not.toContain("password");
  });

  it("highlights matching words only if colours are on [MEM-8]", async () => {
    using store = testStore();
    await fill(store);
    expect((await store.baton("recall", "REST")).stdout).not.toContain("\u001b[");
    const env = { BATON_STORE: store.address, FORCE_COLOR: "1" };
    const coloured = await baton(["recall", "REST"], { env });
    expect(coloured.stdout).toContain("mREST\u001b[");
  });

  it("finds an agent's private memories with --as, and filters [MEM-8 MEM-11]", async () => {
    using store = testStore();
    await fill(store);
    const own = await store.baton("recall", "REST password", "--as", "planner");
    expect(own.stdout).toContain("password");
    const filtered = await store.baton("recall", "REST", "--task", "api");
    expect(filtered.stdout).toContain("GraphQL");
    const current = await store.baton("recall", "REST", "--current");
    expect(current.stdout).not.toContain("GraphQL");
  });

  it("prints score, reasons and the cursor of the next page as JSON [MEM-8]", async () => {
    using store = testStore();
    await fill(store);
    const { stdout } = await store.baton("recall", "REST", "--limit", "1", "--json");
    const { items: hits, next: cursor } = JSON.parse(stdout);
    expect(hits).toHaveLength(1);
    expect(hits[0]).toMatchObject({ score: expect.any(Number), why: expect.any(Array) });
    const next = await store.baton("recall", "REST", "--limit", "1", "--after", cursor, "--json");
    expect(JSON.parse(next.stdout).items[0].memory.id).not.toBe(hits[0].memory.id);
  });

  it("shows the matching passage of a handoff, and its delivery [MEM-19]", async () => {
    using store = testStore();
    const sent = await send(store);
    const { stdout } = await store.baton("recall", "which mirrors?", "--words-only");
    expect(stdout).toContain("payload: remark: The heliograph needs mirrors.");
    expect(stdout).toContain(`handoff ${sent.id}`);
    const answer = await store.baton("recall", "which mirrors?", "--words-only", "--json");
    expect(JSON.parse(answer.stdout).items[0]).toMatchObject({
      passage: "payload: remark: The heliograph needs mirrors.",
      handoff: { envelope: sent.envelope.id, deliveries: [sent.id] },
    });
  });

  it("reports when nothing matches, and refuses a question without a word", async () => {
    using store = testStore();
    await fill(store);
    const none = await store.baton("recall", "kangaroo", "--words-only");
    expect(none.stdout).toContain("No matching memories.");
    const empty = await store.baton("recall", "?");
    expect(empty.code).toBe(64);
    expect(empty.stderr).toContain("no word");
  });
});

describe("baton embed", () => {
  it("shows the model and its progress, and drops a model [MEM-8]", async () => {
    using store = testStore();
    await fill(store);
    const made = await store.baton("embed");
    expect(made.stdout).toMatch(/^words-1-\w+ {2}3 vectors {2}192 dimensions {2}up to date\n$/);
    const [{ model }] = JSON.parse((await store.baton("embed", "--list", "--json")).stdout);
    const dropped = await store.baton("embed", "--drop", model);
    expect(dropped.stdout).toContain("No embeddings yet.");
  });
});
