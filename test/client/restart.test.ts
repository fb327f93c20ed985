/**
 * A hub that is killed and restarted on the same file and address: waiting callers keep waiting.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Work } from "../../src/index.ts";
import { RestartableHub } from "./support.ts";

let served: RestartableHub;
beforeAll(async () => {
  served = await RestartableHub.start();
}, 120_000);
afterAll(() => served[Symbol.asyncDispose]());

async function scene() {
  const hub = await served.open();
  const planner = await hub.agent("planner", { role: "planner" });
  const coder = await hub.agent("coder", { role: "coder" });
  return { hub, planner, coder, restart: () => served.restart() };
}

describe("a killed and restarted hub", { timeout: 180_000 }, () => {
  it("continues its inboxes and loses no handoff [OPS-5]", async () => {
    const { planner, coder, restart } = await scene();
    const inbox = coder.inbox();
    const next = inbox.next();
    await planner.remember({ content: "Before." });
    await restart();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go on" });
    const { value: offer } = await next;
    expect(offer?.id).toBe(sent.id);
    await (await offer?.accept())?.complete({ summary: "Done" });
    expect(await sent.completed()).toMatchObject({ kind: "completed" });
    await inbox.return(undefined);
  });

  it("answers callers that wait for a handoff [OPS-5]", async () => {
    const { planner, coder, restart } = await scene();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = (await coder.accept()) as Work;
    const ended = sent.completed();
    const waiting = coder.accept({ wait: true });
    await restart();
    await work.note("Still mine.");
    await work.complete({ summary: "Done" });
    expect(await ended).toMatchObject({ kind: "completed", result: { summary: "Done" } });
    const other = await planner.handoff({ to: "coder", task: "u", intent: "Next" });
    expect((await waiting)?.id).toBe(other.id);
  });

  it("leaves work with its holder, whose signal aborts only on a cancellation [OPS-5]", async () => {
    const { planner, coder, restart } = await scene();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = (await coder.accept()) as Work;
    const { signal } = work;
    await restart();
    expect(await work.complete().then(({ kind }) => kind)).toBe("settled");
    expect(signal.aborted).toBe(false);
    const again = await planner.handoff({ to: "coder", task: "u", intent: "Go" });
    const next = (await coder.accept()) as Work;
    const taken = new Promise((resolve) => next.signal.addEventListener("abort", resolve));
    expect(await again.cancel("No need")).toBe(true);
    await taken;
    expect(next.signal.reason).toMatchObject({ code: "cancelled" });
    expect((await sent.status()).state).toBe("completed");
  });
});
