/** Answers that get lost on the way: what was carried out is not carried out again, and is told all the same. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent, Hub, Work } from "../../src/index.ts";
import { until } from "../support/until.ts";
import { type LossyNetwork, lossyNetwork, open, RestartableHub, serveHere } from "./support.ts";

describe("an answer that got lost", () => {
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

  it("to remembering stores one memory [OPS-5]", async () => {
    network.loseAnswerTo("POST /v1/memories");
    const memory = await planner.remember({ content: "Once." });
    expect(network.lost).toBe(1);
    expect((await hub.memories.recent({ agent: "planner" })).items).toMatchObject([
      { id: memory.id },
    ]);
  });

  it("to a handoff sends it once [OPS-5]", async () => {
    network.loseAnswerTo("POST /v1/handoffs");
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    expect(network.lost).toBe(1);
    expect((await coder.deliveries.waiting()).items.map(({ delivery }) => delivery.id)).toEqual([
      sent.id,
    ]);
  });

  it("to accepting is the same work, tried once [DLV-9 OPS-5]", async () => {
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    network.loseAnswerTo("POST /v1/inbox/accept");
    const work = (await coder.accept()) as Work;
    expect([network.lost, work.id, work.delivery.attempt]).toEqual([1, sent.id, 1]);
    expect(await hub.deliveries.attempts(sent.id)).toEqual([]);
  });

  it("to completing completes it once, and says so [OPS-5]", async () => {
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = (await coder.accept()) as Work;
    network.loseAnswerTo("/complete");
    expect(await work.complete({ summary: "Done" })).toMatchObject({ kind: "settled" });
    expect(network.lost).toBe(1);
    expect(await sent.completed()).toMatchObject({ result: { summary: "Done" } });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("to handing on sends the next envelope once [OPS-5]", async () => {
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

  it("to asking whether an effect begins lets it happen once [OPS-5]", async () => {
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

/** The hub dies with the answer: what it remembered of the call dies with it, what it stored does not. */
describe("an answer that got lost with the hub", { timeout: 180_000 }, () => {
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
    /** Carries a call out whose answer is lost, with the hub that gave it. */
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

  it("to remembering is the memory that was stored [OPS-5]", async () => {
    const { hub, planner, lose } = await scene();
    const memory = await lose("POST /v1/memories", () => planner.remember({ content: "Once." }));
    expect((await hub.memories.recent({ agent: "planner" })).items).toMatchObject([
      { id: memory.id },
    ]);
  });

  it("to remembering strictly is that memory, not that it is known already [OPS-5]", async () => {
    const { hub, planner, lose } = await scene();
    const said = { content: "The release goes out on Friday after the tests have passed." };
    const memory = await lose("POST /v1/memories", () =>
      planner.remember(said, { known: "refuse" }),
    );
    expect((await hub.memories.recent({ agent: "planner" })).items).toMatchObject([
      { id: memory.id },
    ]);
  });

  it("to tracing is the steps that were stored [OPS-5 MEM-12]", async () => {
    const { hub, coder, lose } = await scene();
    const steps = [{ kind: "tool", name: "grep" } as const, { kind: "result" } as const];
    const traced = await lose("POST /v1/traces", () => coder.trace(steps));
    await coder.trace({ kind: "tool", name: "sed" });
    const ids = (await hub.traces.list()).items.map(({ id }) => id);
    expect(ids.slice(0, 2)).toEqual(traced.map(({ id }) => id));
    expect(ids).toHaveLength(3);
    expect(await hub.traces.counts()).toEqual({ stored: 3, failed: 0, waiting: 0 });
  });

  it("to a handoff is the handoff that was sent [OPS-5]", async () => {
    const { planner, coder, lose } = await scene();
    const draft = { to: "coder", task: "t", intent: "Go" };
    const sent = await lose("POST /v1/handoffs", () => planner.handoff(draft));
    expect((await coder.deliveries.waiting()).items.map(({ delivery }) => delivery.id)).toEqual([
      sent.id,
    ]);
  });

  it("to accepting leaves nothing with a session that does not know of it [OPS-5]", async () => {
    const { hub, planner, coder, lose } = await scene();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    expect(await lose("POST /v1/inbox/accept", () => coder.accept())).toBeUndefined();
    const work = await coder.accept({ wait: true });
    expect(work).toMatchObject({ id: sent.id, delivery: { attempt: 2 } });
    expect(await hub.deliveries.attempts(sent.id)).toMatchObject([{ outcome: "released" }]);
  });

  it("to accepting with a receipt leaves nothing with it either [OPS-5]", async () => {
    const { planner, coder, lose } = await scene();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const receipt = () => undefined;
    expect(await lose("POST /v1/inbox/accept", () => coder.accept({ receipt }))).toBeUndefined();
    expect(await coder.accept({ wait: true })).toMatchObject({
      id: sent.id,
      delivery: { attempt: 2 },
    });
  });

  it("to completing says that it is completed [OPS-5]", async () => {
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

  it("to handing on is the envelope that was sent [OPS-5]", async () => {
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
