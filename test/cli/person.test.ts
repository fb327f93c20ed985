/** A person as receiver on the command line: approving, answering, editing and rejecting. */
import { describe, expect, it } from "vitest";
import { type Draft, ERROR_CODES, openHub } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { type TestStore, team, testStore } from "./baton.ts";

/** Sends a handoff to pat. Returns its delivery id. */
async function asked(store: TestStore, draft: Partial<Draft> = {}): Promise<string> {
  await team(store);
  await using hub = await store.open();
  const ada = await hub.agent("ada");
  const sent = await ada.handoff({ to: "pat", task: "release", intent: "Ship it?", ...draft });
  return sent.id;
}

async function stateOf(store: TestStore, id: string) {
  await using hub = await store.open();
  return await hub.deliveries.get(id); // Awaited, so that the hub closes after the read.
}

const HOUR_MS = 3_600_000;
const APPROVAL = { name: "verdict", type: "approval", criteria: ["the tests pass"] };

describe("a person", () => {
  it("sees what is expected, and by when", async () => {
    using store = testStore();
    await asked(store, { expects: [APPROVAL], policy: { deadlineMs: 3_600_000 } });
    const { stdout } = await store.baton("inbox", "pat");
    expect(stdout).toMatch(/release from ada, due \d{4}-/);
    expect(stdout).toContain("expects verdict (approval): the tests pass");
  });

  it("approves, and the sender gets the approval it expects [DLV-17]", async () => {
    using store = testStore();
    const id = await asked(store, { expects: [APPROVAL] });
    const { code } = await store.baton("approve", id, "--as", "pat", "--comment", "Well done");
    expect(code).toBe(0);
    expect(await stateOf(store, id)).toMatchObject({
      delivery: { state: "completed", holder: "pat" },
      result: {
        outcome: "approved",
        summary: "Well done",
        outputs: { verdict: { approved: true, comment: "Well done" } },
      },
    });
  });

  it("approves a handoff that asks for a receipt but expects no approval [DLV-17]", async () => {
    using store = testStore();
    const id = await asked(store, { receipt: true, constraints: ["Keep the tests"] });
    expect((await store.baton("approve", id, "--as", "pat")).code).toBe(0);
    expect((await stateOf(store, id)).delivery.state).toBe("completed");
  });

  it("learns about a missing output before an attempt is used [DLV-17]", async () => {
    using store = testStore();
    const notes = { name: "notes", type: "text", criteria: [] };
    const id = await asked(store, { expects: [APPROVAL, notes] });
    const { code, stderr } = await store.baton("approve", id, "--as", "pat");
    expect(code).toBe(ERROR_CODES.invalid_result.exit);
    expect(stderr).toContain("--output <name>=<value>");
    expect((await stateOf(store, id)).delivery).toMatchObject({ state: "ready", attempt: 0 });
    const more = ["--output", "notes=Mind the gap"];
    expect((await store.baton("approve", id, "--as", "pat", ...more)).code).toBe(0);
    const { result } = await stateOf(store, id);
    expect(result?.outputs).toEqual({ notes: "Mind the gap", verdict: { approved: true } });
  });

  it("approves a handoff, which a route then sends on [DLV-17]", async () => {
    using store = testStore();
    const id = await asked(store);
    await store.baton("route", "set", "ship", "--result", "approved", "--to", "ben");
    expect((await store.baton("approve", id, "--as", "pat")).code).toBe(0);
    const { stdout } = await store.baton("inbox", "ben", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      items: [{ delivery: { task: "release", sender: "pat" } }],
    });
  });

  it("rejects with a reason [DLV-17]", async () => {
    using store = testStore();
    const id = await asked(store, { expects: [APPROVAL] });
    expect((await store.baton("reject", id, "Not on a Friday", "--as", "pat")).code).toBe(0);
    expect(await stateOf(store, id)).toMatchObject({
      delivery: { state: "declined" },
      reason: "Not on a Friday",
    });
  });

  it("answers with the expected text [DLV-17]", async () => {
    using store = testStore();
    const id = await asked(store, { expects: [{ name: "port", type: "text" }] });
    expect((await store.baton("answer", id, "8080", "--as", "pat")).code).toBe(0);
    expect(await stateOf(store, id)).toMatchObject({
      delivery: { state: "completed" },
      result: { outputs: { port: "8080" } },
    });
  });

  it("cannot answer a handoff that expects an approval [DLV-17]", async () => {
    using store = testStore();
    const id = await asked(store, { expects: [APPROVAL] });
    const { code, stderr } = await store.baton("answer", id, "sure", "--as", "pat");
    expect(code).toBe(ERROR_CODES.invalid_result.exit);
    expect(stderr).toContain("verdict");
    expect((await stateOf(store, id)).delivery.state).toBe("ready");
  });

  it("edits by sending back a new envelope; the original stays unchanged [DLV-17]", async () => {
    using store = testStore();
    const id = await asked(store, {
      next: ["Ship on Friday"],
      constraints: ["Keep the tests"],
      payload: { type: "plan", data: { day: 5 } },
    });
    const before = (await stateOf(store, id)).envelope;
    const { code, stdout } = await store.baton(
      ...["edit", id, "--as", "pat", "--next", "Ship on Monday", "--comment", "Never on a Friday"],
      ...["--constraint", "Tell support", "--payload", '{"day":1}', "--payload-type", "plan"],
      "--json",
    );
    expect(code).toBe(0);
    const { deliveries, envelope } = JSON.parse(stdout);
    expect(deliveries).toMatchObject([{ receiver: "ada", state: "ready", task: "release" }]);
    expect(envelope).toMatchObject({
      action: "edited",
      from: { agent: "pat" },
      parents: [before.id],
      intent: "Ship it?",
      next: ["Ship on Monday"],
      constraints: [{ rule: "Keep the tests" }, { rule: "Tell support" }],
      payload: { data: { day: 1 } },
      history: [{ agent: "pat", why: "Never on a Friday" }],
    });
    const after = await stateOf(store, id);
    expect(after.delivery.state).toBe("completed");
    expect(after.envelope).toEqual(before);
    expect((await store.baton("verify")).code).toBe(0);
    const none = await store.baton("edit", id, "--as", "pat");
    expect(none.code).toBe(ERROR_CODES.invalid_input.exit);
  });

  it("approves work that it accepted before [DLV-17]", async () => {
    using store = testStore();
    const id = await asked(store, { expects: [APPROVAL] });
    expect((await store.baton("accept", id, "--as", "pat")).code).toBe(0);
    expect((await store.baton("approve", id, "--as", "pat")).code).toBe(0);
    expect((await stateOf(store, id)).delivery).toMatchObject({ state: "completed", attempt: 1 });
  });

  it("decides only on its own deliveries, and only once [DLV-17]", async () => {
    using store = testStore();
    const id = await asked(store);
    const stranger = await store.baton("approve", id, "--as", "ben");
    expect(stranger.code).toBe(ERROR_CODES.not_open.exit);
    expect(stranger.stderr).toContain("it is addressed to pat");
    expect((await store.baton("reject", id, "no", "--as", "pat")).code).toBe(0);
    const late = await store.baton("approve", id, "--as", "pat");
    expect(late.code).toBe(ERROR_CODES.not_open.exit);
    expect(late.stderr).toContain("it is declined");
  });

  it("gets reminders and a deadline, like an agent [DLV-17]", async () => {
    using store = testStore();
    await team(store);
    // Starts two hours in the past, so that the deadline has passed on the real clock.
    const clock = new VirtualClock(Date.now() - 2 * HOUR_MS);
    await using hub = await openHub(store.address, { clock });
    const policy = { remindMs: 60_000, deadlineMs: HOUR_MS };
    const ada = await hub.agent("ada");
    const { id } = await ada.handoff({ to: "pat", task: "release", intent: "Ship it?", policy });
    clock.advance(90_000);
    await hub.deliveries.runDue();
    expect((await hub.events.list()).items.map(({ kind }) => kind)).toContain("reminded");
    const late = await store.baton("approve", id, "--as", "pat");
    expect(late.code).toBe(ERROR_CODES.not_open.exit);
    expect((await stateOf(store, id)).delivery.state).toBe("expired");
  });
});
