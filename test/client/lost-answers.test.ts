/**
 * Responses that get lost: a call that was carried out is not carried out again, and still returns
 * its result.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent, Hub, Work } from "../../src/index.ts";
import { until } from "../support/until.ts";
import { type LossyNetwork, lossyNetwork, open, RestartableHub, serveHere } from "./support.ts";

describe("a call whose response was lost", () => {
  let hub: Hub;
  let network: LossyNetwork;
  let planner: Agent;
  let coder: Agent;
  beforeEach(async () => {
    network = await lossyNetwork(await serveHere());
    hub = await open(network.address);
    planner = await hub.agent("planner", { role: "planner" });
    coder = await hub.agent("coder", { role: "coder" });
  });

  it("stores a memory once [OPS-5]", async () => {
    network.loseAnswerTo("POST /v1/memories");
    const memory = await planner.remember({ content: "Once." });
    expect(network.lost).toBe(1);
    expect((await hub.memories.recent({ agent: "planner" })).items).toMatchObject([
      { id: memory.id },
    ]);
  });

  it("sends a handoff once [OPS-5]", async () => {
    network.loseAnswerTo("POST /v1/handoffs");
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    expect(network.lost).toBe(1);
    expect((await coder.deliveries.waiting()).items.map(({ delivery }) => delivery.id)).toEqual([
      sent.id,
    ]);
  });

  it("sends several handoffs once [OPS-5 DLV-20]", async () => {
    network.loseAnswerTo("POST /v1/handoffs/batch");
    const drafts = ["one", "two"].map((task) => ({ to: "coder", task, intent: "Go" }));
    const sent = await planner.handoffMany(drafts);
    expect(network.lost).toBe(1);
    expect((await coder.deliveries.waiting()).items.map(({ delivery }) => delivery.id)).toEqual(
      sent.map(({ id }) => id),
    );
  });

  it("returns the accepted work on its first attempt [DLV-9 OPS-5]", async () => {
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    network.loseAnswerTo("POST /v1/inbox/accept");
    const work = (await coder.accept()) as Work;
    expect([network.lost, work.id, work.delivery.attempt]).toEqual([1, sent.id, 1]);
    expect(await hub.deliveries.attempts(sent.id)).toEqual([]);
  });

  it("completes work once and returns the result [OPS-5]", async () => {
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = (await coder.accept()) as Work;
    network.loseAnswerTo("/complete");
    expect(await work.complete({ summary: "Done" })).toMatchObject({ kind: "settled" });
    expect(network.lost).toBe(1);
    expect(await sent.completed()).toMatchObject({ result: { summary: "Done" } });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("hands work on once [OPS-5]", async () => {
    await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = (await coder.accept()) as Work;
    network.loseAnswerTo("/handoff ");
    const sent = await work.handoff({ to: "planner" });
    if (sent.kind !== "sent") throw new Error("it was added to");
    expect(network.lost).toBe(1);
    expect((await planner.deliveries.waiting()).items.map(({ delivery }) => delivery.id)).toEqual([
      sent.id,
    ]);
  });

  it("runs an effect once [OPS-5]", async () => {
    let times = 0;
    network.loseAnswerTo("POST /v1/effects/begin");
    expect(await coder.effects.run("deploy", () => ++times)).toMatchObject({
      kind: "done",
      result: 1,
    });
    expect([network.lost, times]).toEqual([1, 1]);
    expect(await coder.effects.run("deploy", () => ++times)).toMatchObject({
      again: true,
      result: 1,
    });
  });
});

/**
 * The hub dies before its response arrives: its in-memory record of the call is lost, what it
 * stored is not.
 */
describe("a call whose response was lost with the hub", { timeout: 180_000 }, () => {
  let served: RestartableHub;
  beforeAll(async () => {
    served = await RestartableHub.start();
  }, 120_000);
  afterAll(() => served[Symbol.asyncDispose]());

  async function scene() {
    const { network } = served;
    const hub = await served.open();
    const planner = await hub.agent("planner", { role: "planner" });
    const coder = await hub.agent("coder", { role: "coder" });
    /** Makes a call whose response is lost, and restarts the hub. */
    const lose = async <T>(text: string, call: () => Promise<T>): Promise<T> => {
      const before = network.lost;
      network.loseAnswerTo(text);
      const answer = call();
      await until("an answer is lost", () => network.lost > before);
      await served.restart();
      return answer;
    };
    return { hub, planner, coder, lose };
  }

  it("returns the memory that was stored [OPS-5]", async () => {
    const { hub, planner, lose } = await scene();
    const memory = await lose("POST /v1/memories", () => planner.remember({ content: "Once." }));
    expect((await hub.memories.recent({ agent: "planner" })).items).toMatchObject([
      { id: memory.id },
    ]);
  });

  it("returns the stored memory and does not refuse it as known [OPS-5]", async () => {
    const { hub, planner, lose } = await scene();
    const said = { content: "The release goes out on Friday after the tests have passed." };
    const memory = await lose("POST /v1/memories", () =>
      planner.remember(said, { known: "refuse" }),
    );
    expect((await hub.memories.recent({ agent: "planner" })).items).toMatchObject([
      { id: memory.id },
    ]);
  });

  it("returns the trace steps that were stored [OPS-5 MEM-12]", async () => {
    const { hub, coder, lose } = await scene();
    const steps = [{ kind: "tool", name: "grep" } as const, { kind: "result" } as const];
    const traced = await lose("POST /v1/traces", () => coder.trace(steps));
    await coder.trace({ kind: "tool", name: "sed" });
    const ids = (await hub.traces.list()).items.map(({ id }) => id);
    expect(ids.slice(0, 2)).toEqual(traced.map(({ id }) => id));
    expect(ids).toHaveLength(3);
    expect(await hub.traces.counts()).toEqual({ stored: 3, failed: 0, waiting: 0 });
  });

  it("returns the handoffs that were sent together [OPS-5 DLV-20]", async () => {
    const { hub, planner, lose } = await scene();
    await hub.agent("critic", {});
    const tasks = ["one of several", "two of several"];
    const drafts = tasks.map((task) => ({ to: "critic", task, intent: "Go" }));
    const sent = await lose("POST /v1/handoffs/batch", () => planner.handoffMany(drafts));
    expect(sent.map(({ joined }) => joined)).toEqual(["repeated", "repeated"]);
    for (const [i, { task }] of drafts.entries()) {
      const line = await hub.tasks.line(task);
      expect(line.map(({ envelope }) => envelope.id)).toEqual([sent[i]?.envelope.id]);
    }
  });

  it("returns the handoff that was sent [OPS-5]", async () => {
    const { planner, coder, lose } = await scene();
    const draft = { to: "coder", task: "t", intent: "Go" };
    const sent = await lose("POST /v1/handoffs", () => planner.handoff(draft));
    expect((await coder.deliveries.waiting()).items.map(({ delivery }) => delivery.id)).toEqual([
      sent.id,
    ]);
  });

  it("releases accepted work that its session does not know of [OPS-5]", async () => {
    const { hub, planner, coder, lose } = await scene();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    expect(await lose("POST /v1/inbox/accept", () => coder.accept())).toBeUndefined();
    const work = await coder.accept({ wait: true });
    expect(work).toMatchObject({ id: sent.id, delivery: { attempt: 2 } });
    expect(await hub.deliveries.attempts(sent.id)).toMatchObject([{ outcome: "released" }]);
  });

  it("releases work that was accepted with a receipt [OPS-5]", async () => {
    const { planner, coder, lose } = await scene();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const receipt = () => undefined;
    expect(await lose("POST /v1/inbox/accept", () => coder.accept({ receipt }))).toBeUndefined();
    expect(await coder.accept({ wait: true })).toMatchObject({
      id: sent.id,
      delivery: { attempt: 2 },
    });
  });

  it("returns the completed delivery [OPS-5]", async () => {
    const { hub, planner, coder, lose } = await scene();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = (await coder.accept()) as Work;
    const settled = await lose("/complete", () => work.complete({ summary: "Done" }));
    expect(settled).toMatchObject({
      kind: "settled",
      delivery: { id: sent.id, state: "completed" },
    });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("returns the envelope that was handed on [OPS-5]", async () => {
    const { planner, coder, lose } = await scene();
    await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = (await coder.accept()) as Work;
    const sent = await lose("/handoff ", () => work.handoff({ to: "planner" }));
    if (sent.kind !== "sent") throw new Error("it was added to");
    expect((await planner.deliveries.waiting()).items.map(({ delivery }) => delivery.id)).toEqual([
      sent.id,
    ]);
  });
});
