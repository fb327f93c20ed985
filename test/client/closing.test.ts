/** Closing a hub over HTTP, and stopping to wait: what was waited for ends, and nothing is left held. */
import { describe, expect, it } from "vitest";
import type { Hub } from "../../src/index.ts";
import { refusal } from "../behaviour/support.ts";
import { open, serveHere } from "./support.ts";

async function scene() {
  const address = await serveHere();
  const [hub, other] = [await open(address), await open(address)];
  const planner = await other.agent("planner", { role: "planner" });
  const coder = await hub.agent("coder", { role: "coder" });
  return { hub, other, planner, coder };
}

/** Sent when nobody waits any more, it is there for whoever asks next, untried. */
async function isFree(other: Hub): Promise<void> {
  const planner = await other.agent("planner");
  const sent = await planner.handoff({ to: "coder", task: "late", intent: "Go" });
  const work = await (await other.agent("coder")).accept();
  expect(work).toMatchObject({ id: sent.id, attempt: 1 });
  await work?.complete();
}

describe("a hub over HTTP that is closed", () => {
  it("ends its inboxes and waits, and leaves nothing claimed [OPS-5]", async () => {
    const { hub, other, coder } = await scene();
    const next = coder.inbox().next();
    const accepted = coder.accept({ wait: true });
    await coder.recent(); // Both have been asked for by now.
    await hub.close();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(await accepted).toBeUndefined();
    await isFree(other);
  });

  it("tells whoever waits for a handoff's end that it was closed [OPS-5]", async () => {
    const { hub, coder } = await scene();
    const sent = await coder.handoff({ to: "planner", task: "t", intent: "Go" });
    const ended = refusal(sent.completed());
    await hub.close();
    expect((await ended).code).toBe("store_closed");
  });

  it("lets what is under way come to its end, and refuses what comes later [OPS-5]", async () => {
    const { hub, other, coder } = await scene();
    const last = coder.remember({ content: "The last." });
    await Promise.all([hub.close(), hub.close()]);
    expect(await other.read((await last).id)).toMatchObject({ content: "The last." });
    for (const late of [() => hub.books(), () => coder.recent(), () => coder.accept()]) {
      expect((await refusal(late())).code).toBe("store_closed");
    }
    expect((await refusal(coder.inbox().next())).code).toBe("store_closed");
  });

  it("stores what was traced and not waited for [OPS-5]", async () => {
    const { hub, other, coder } = await scene();
    for (let n = 0; n < 20; n++) void coder.trace({ kind: "tool", name: `t${n}` });
    await hub.close();
    expect(hub.traceCounts()).toEqual({ stored: 20, failed: 0, waiting: 0 });
    const names = (await other.traces()).map(({ data }) => data?.["name"]);
    expect(names).toEqual(Array.from({ length: 20 }, (_, n) => `t${n}`));
  });
});

describe("whoever stops waiting", () => {
  it("is given nothing any more, and holds nothing [OPS-5]", async () => {
    const { other, coder } = await scene();
    for (const end of [
      (signal: AbortSignal) => coder.inbox({ signal }).next(),
      (signal: AbortSignal) => coder.accept({ wait: true, signal }),
    ]) {
      const controller = new AbortController();
      const waiting = end(controller.signal);
      await coder.recent();
      controller.abort();
      await waiting;
      await isFree(other);
    }
  });
});
