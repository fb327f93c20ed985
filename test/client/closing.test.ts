/** Closing a hub over HTTP and aborting waits: every wait ends, and nothing stays claimed. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { Hub, Work } from "../../src/index.ts";
import { startChild } from "../support/child.ts";
import { refusal } from "../support/hub/support.ts";
import { until } from "../support/until.ts";
import { open, serveHere } from "./support.ts";

async function scene() {
  const address = await serveHere();
  const [hub, other] = [await open(address), await open(address)];
  const planner = await other.agent("planner", { role: "planner" });
  const coder = await hub.agent("coder", { role: "coder" });
  return { address, hub, other, planner, coder };
}

/** Waits until the hub has this many unanswered requests besides the one that checks. */
async function underWay(address: string, calls: number): Promise<void> {
  await until(`${calls} calls under way`, async () => {
    const metrics = await (await fetch(`${address}/metrics`)).text();
    return metrics.includes(`baton_http_requests_under_way ${calls + 1}\n`);
  });
}

/** Expects that a new handoff is delivered to the next claim, on its first attempt. */
async function isFree(other: Hub): Promise<void> {
  const planner = await other.agent("planner");
  const sent = await planner.handoff({ to: "coder", task: "late", intent: "Go" });
  const work = await (await other.agent("coder")).accept();
  expect(work).toMatchObject({ id: sent.id, delivery: { attempt: 1 } });
  await work?.complete();
}

describe("a closed hub over HTTP", () => {
  it("ends its inboxes and waits, and leaves nothing claimed [OPS-5]", async () => {
    const { address, hub, other, coder } = await scene();
    const next = coder.inbox().next();
    const accepted = coder.accept({ wait: true });
    await underWay(address, 2);
    await hub.close();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(await accepted).toBeUndefined();
    await isFree(other);
  });

  it("rejects waits for a handoff with store_closed [OPS-5]", async () => {
    const { address, hub, coder } = await scene();
    const sent = await coder.handoff({ to: "planner", task: "t", intent: "Go" });
    const ended = refusal(sent.completed());
    await underWay(address, 1);
    await hub.close();
    expect((await ended).code).toBe("store_closed");
  });

  it("finishes calls under way and refuses later ones [OPS-5]", async () => {
    const { hub, other, coder } = await scene();
    const last = coder.remember({ content: "The last." });
    await Promise.all([hub.close(), hub.close()]);
    expect(await other.memories.read((await last).id)).toMatchObject({ content: "The last." });
    for (const late of [
      () => hub.deliveries.totals(),
      () => coder.memories.recent(),
      () => coder.accept(),
    ]) {
      expect((await refusal(late())).code).toBe("store_closed");
    }
    expect((await refusal(coder.inbox().next())).code).toBe("store_closed");
  });

  it("stores traces that were not awaited [OPS-5]", async () => {
    const { hub, other, coder } = await scene();
    for (let n = 0; n < 20; n++) void coder.trace({ kind: "tool", name: `t${n}` });
    await hub.close();
    expect(await hub.traces.counts()).toEqual({ stored: 20, failed: 0, waiting: 0 });
    const names = (await other.traces.list()).items.map(({ data }) => data?.["name"]);
    expect(names).toEqual(Array.from({ length: 20 }, (_, n) => `t${n}`));
  });
});

describe("an unreachable hub over HTTP", () => {
  it("can be closed, and pending traces fail after one attempt in total [OPS-5]", async () => {
    let isAway = false;
    let tried = 0;
    const network = (request: Request) => {
      if (!isAway) return fetch(request);
      tried++;
      throw new TypeError("away");
    };
    const hub = await open(await serveHere(), { fetch: network, outageMs: 0 });
    const coder = await hub.agent("coder", { role: "coder" });
    isAway = true;
    const steps = Array.from({ length: 20 }, () => coder.trace({ kind: "tool" }));
    await hub.close();
    for (const step of steps) expect((await refusal(step)).code).toBe("hub_unreachable");
    expect(await hub.traces.counts()).toEqual({ stored: 0, failed: 20, waiting: 0 });
    expect(tried).toBe(1);
  });
});

describe("listening for changes of work", () => {
  it("does not keep the process alive [OPS-5]", async () => {
    const address = await serveHere();
    const hub = await open(address);
    const planner = await hub.agent("planner", { role: "planner" });
    await hub.agent("coder", { role: "coder" });
    await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const lines: string[] = [];
    const child = startChild(new URL("listening-child.ts", import.meta.url), [address], (line) =>
      lines.push(line),
    );
    onTestFinished(() => void child.kill());
    expect(await child.ended).toMatchObject({ code: 0 });
    expect(lines.map((line) => JSON.parse(line))).toEqual([{ isLost: false }]);
  });

  it("sends at most two requests, however often the signal is checked [OPS-5]", async () => {
    const asked: string[] = [];
    const network = (request: Request) => {
      asked.push(new URL(request.url).pathname);
      return fetch(request);
    };
    const hub = await open(await serveHere(), { fetch: network });
    const coder = await hub.agent("coder", { role: "coder" });
    await coder.handoff({ to: "coder", task: "t", intent: "Go" });
    const work = (await coder.accept()) as Work;
    for (let n = 0; n < 50; n++) expect(work.signal.aborted).toBe(false);
    await work.complete();
    // One request that checks, one that waits.
    expect(asked.filter((path) => path.endsWith("/news")).length).toBeLessThanOrEqual(2);
  });
});

describe("aborting a wait", () => {
  it("does not wait again for work that would only be released [OPS-5]", async () => {
    const waits: unknown[] = [];
    const network = async (request: Request) => {
      if (request.url.endsWith("/v1/inbox/accept")) {
        const { waitMs } = JSON.parse(await request.clone().text());
        waits.push(waitMs);
        if (waits.length === 1) await new Promise(() => {}); // The request never reaches the hub.
      }
      return fetch(request);
    };
    const hub = await open(await serveHere(), { fetch: network });
    const coder = await hub.agent("coder", { role: "coder" });
    const controller = new AbortController();
    const waiting = coder.accept({ wait: true, signal: controller.signal });
    while (waits.length === 0) (await coder.memories.recent()).items;
    controller.abort();
    expect(await waiting).toBeUndefined();
    await hub.close();
    expect(waits).toEqual([20_000, 0]);
  });

  it("releases an offer whose response was lost [OPS-5]", async () => {
    const address = await serveHere();
    const given = Promise.withResolvers<void>();
    let isFirst = true;
    const network = async (request: Request) => {
      if (!isFirst || !request.url.endsWith("/v1/inbox/claim")) return fetch(request);
      isFirst = false;
      const { method, headers } = request;
      await fetch(request.url, { method, headers, body: await request.text() });
      given.resolve();
      return new Promise<Response>(() => {}); // The hub answers, but the response is lost.
    };
    const hub = await open(address, { fetch: network });
    const coder = await hub.agent("coder", { role: "coder" });
    const sent = await coder.handoff({ to: "coder", task: "t", intent: "Go" });
    const controller = new AbortController();
    const waiting = coder.inbox({ signal: controller.signal }).next();
    await given.promise;
    controller.abort();
    expect(await waiting).toMatchObject({ done: true });
    await hub.close();
    const other = await open(address);
    expect(await other.deliveries.attempts(sent.id)).toMatchObject([{ outcome: "released" }]);
    expect((await (await other.agent("coder")).accept())?.id).toBe(sent.id);
  });

  it("leaves the caller without work and nothing claimed [OPS-5]", async () => {
    const { address, other, planner, coder } = await scene();
    const receiver = await other.agent("coder");
    for (const wait of [
      async (signal: AbortSignal) => (await coder.inbox({ signal }).next()).value,
      (signal: AbortSignal) => coder.accept({ wait: true, signal }),
    ]) {
      const controller = new AbortController();
      const waiting = wait(controller.signal);
      await underWay(address, 1);
      controller.abort();
      // The hub may still be waiting and claim this handoff; then it is released again.
      const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
      expect(await waiting).toBeUndefined();
      const work = await receiver.accept({ wait: true });
      expect(work?.id).toBe(sent.id);
      const attempts = await other.deliveries.attempts(sent.id);
      expect(attempts.filter(({ outcome }) => outcome !== "released")).toEqual([]);
      await work?.complete();
      await underWay(address, 0);
      await isFree(other);
    }
  });
});
