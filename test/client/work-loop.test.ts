/** The worker loop over a real connection: outages of the hub, and closing the client. */
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/until.ts";
import { open, serveHere } from "./support.ts";

/** A fetch that can be cut off: then it fails, also for the requests that are under way. */
function cuttable() {
  let cut = new AbortController();
  const state = {
    /** Requests that failed. */
    failed: 0,
    /** Loses the response to the next request whose path contains this text. */
    loses: undefined as string | undefined,
    cutOff: () => cut.abort(),
    restore() {
      cut = new AbortController();
    },
    async fetch(request: Request): Promise<Response> {
      const { signal } = cut;
      try {
        const response = await fetch(request, {
          signal: AbortSignal.any([request.signal, signal]),
        });
        if (state.loses === undefined || !request.url.includes(state.loses)) return response;
        state.loses = undefined;
        await response.body?.cancel();
        state.cutOff();
        state.restore();
        throw new Error("the response was lost");
      } catch (error) {
        if (!signal.aborted) throw error;
        state.failed++;
        throw new TypeError("fetch failed", { cause: error });
      }
    },
  };
  return state;
}

/** The worker's calls are not retried by the client: the loop has to retry them. */
async function scene() {
  const address = await serveHere();
  const network = cuttable();
  const here = await open(address);
  const away = await open(address, { outageMs: 1, fetch: network.fetch });
  const planner = await here.agent("planner", { role: "planner" });
  const coder = await away.agent("coder", { role: "coder" });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const send = (task: string) => planner.handoff({ to: "coder", task, intent: "Go" });
  return { network, away, coder, send, stop };
}

describe("agent.work() over HTTP", () => {
  it("claims again after the hub could not be reached [OPS-5 DLV-20]", async () => {
    const { network, coder, send, stop } = await scene();
    const summary = coder.work(() => "Done.", { signal: stop.signal, concurrency: 2 });
    expect(await (await send("before")).completed()).toMatchObject({ kind: "completed" });
    network.cutOff();
    await until("several claims have failed", () => network.failed > 3);
    const during = await send("during");
    network.restore();
    expect(await during.completed()).toMatchObject({ kind: "completed" });
    stop.abort();
    expect(await summary).toMatchObject({ completed: 2, failed: 0, lost: 0 });
  });

  it("completes work although the hub could not be reached [OPS-5 DLV-20]", async () => {
    const { network, coder, send, stop } = await scene();
    const sent = await send("t");
    const summary = coder.work(
      () => {
        network.cutOff();
        network.failed = 0;
        return "Done.";
      },
      { signal: stop.signal },
    );
    await until("completing has failed", () => network.failed > 2);
    network.restore();
    expect(await sent.completed()).toMatchObject({ result: { summary: "Done." } });
    stop.abort();
    expect(await summary).toMatchObject({ completed: 1, failed: 0, lost: 0 });
    expect((await sent.status()).attempt).toBe(1);
  });

  it("counts work as completed if only the response was lost [OPS-5 DLV-20]", async () => {
    const { network, coder, send } = await scene();
    const sent = await send("t");
    const handler = () => {
      network.loses = "/complete";
      return "Done.";
    };
    const summary = await coder.work(handler, { wait: false });
    expect(network.failed).toBeGreaterThan(0);
    expect(await sent.completed()).toMatchObject({ result: { summary: "Done." } });
    expect(summary).toMatchObject({ completed: 1, failed: 0, lost: 0 });
  });

  it("ends when the client closes, and leaves nothing claimed [OPS-5 DLV-20]", async () => {
    const { away, coder, send } = await scene();
    const working = coder.work(() => "Done.", { concurrency: 3 });
    expect(await (await send("before")).completed()).toMatchObject({ kind: "completed" });
    await away.close();
    expect(await working).toMatchObject({ completed: 1, lost: 0 });
    expect(await (await send("after")).status()).toMatchObject({ state: "ready", attempt: 0 });
  });
});
