/** Closing a hub on its port: every connection ends as soon as nothing is under way on it. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../../src/http/listen.ts";
import { openLocalHub } from "../../src/open-hub.ts";

async function connected(port: number): Promise<{ readonly socket: Socket; said(): string }> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return { socket, said: () => Buffer.concat(chunks).toString() };
}

// Node by itself keeps a connection that was answered for six seconds, and an unused one for ten.
describe("a hub that is closed on its port", { timeout: 5_000 }, () => {
  it("does not wait for connections that were opened and never used [OPS-5]", async () => {
    const { port, close } = await listen(await openLocalHub("memory:"), { port: 0 });
    const { socket } = await connected(port);
    await fetch(`http://127.0.0.1:${port}/v1/me`); // The hub has heard of both by now.
    await Promise.all([once(socket, "close"), close()]);
  });

  it("answers what is under way, then ends its connection [OPS-5]", async () => {
    const hub = await openLocalHub("memory:");
    const coder = await hub.agent("coder", { role: "coder" });
    const { id } = await coder.handoff({ to: "coder", task: "t", intent: "Go" });
    const { port, close } = await listen(hub, { port: 0 });
    const { socket, said } = await connected(port);
    const path = `/v1/deliveries/${id}/completed?waitMs=20000`;
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`);
    await fetch(`http://127.0.0.1:${port}/v1/me`);
    await Promise.all([once(socket, "close"), close()]);
    expect(said()).toContain("HTTP/1.1 200 OK");
    expect(said()).toContain('"kind":"timeout"');
  });
});
