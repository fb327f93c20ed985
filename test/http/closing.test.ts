/** Closing a listening hub: every connection ends as soon as no request is in progress on it. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { listen } from "../../src/http/listen.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";
import { until } from "../support/until.ts";

async function connected(port: number): Promise<{ readonly socket: Socket; said(): string }> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return { socket, said: () => Buffer.concat(chunks).toString() };
}

// Shorter than the 65 seconds after which an idle connection is closed.
describe("closing a listening hub", { timeout: 45_000 }, () => {
  // After ten seconds the hub ends every remaining connection. With fake timers that time never
  // comes: close() returns when no connection is left, or never.
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
  });

  it("does not wait for connections that were never used [OPS-5]", async () => {
    const { port, close } = await listen(await openLocalHub("memory:"), {
      port: 0,
      open: "reader",
    });
    const { socket } = await connected(port);
    await fetch(`http://127.0.0.1:${port}/v1/me`); // By now the hub has accepted both.
    await Promise.all([once(socket, "close"), close()]);
  });

  it("answers the request in progress, then ends its connection [OPS-5]", async () => {
    const hub = await openLocalHub("memory:");
    const coder = await hub.agent("coder", { role: "coder" });
    const { id } = await coder.handoff({ to: "coder", task: "t", intent: "Go" });
    const { port, close } = await listen(hub, { port: 0, open: "reader" });
    const { socket, said } = await connected(port);
    const path = `/v1/deliveries/${id}/completed?waitMs=20000`;
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`);
    await until("the hub waits with its answer", async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      return metrics.includes("baton_http_requests_under_way 2\n"); // Includes this request.
    });
    await Promise.all([once(socket, "close"), close()]);
    expect(said()).toContain("HTTP/1.1 200 OK");
    expect(said()).toContain('"kind":"timeout"');
  });
});
