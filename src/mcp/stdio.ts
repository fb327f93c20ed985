/**
 * MCP over stdio, both protocol eras: stdout carries the protocol and nothing else. Ends when the client
 * closes its side, or when it is told to. Accepted work is not released then: its handle is good until
 * somebody notices that this process is gone, and then the work goes to the next with all its notes.
 */
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import { mcpServer } from "./server.ts";

interface StdioOptions {
  /** Ends it. */
  readonly signal: AbortSignal;
  /** What goes wrong besides the answers, for a log. */
  readonly onError: (error: Error) => void;
}

/** Serves one client until it is gone. */
export async function serveMcp(
  agent: Agent,
  hub: Hub,
  { signal, onError }: StdioOptions,
): Promise<void> {
  const transport = new StdioServerTransport();
  const serving = serveStdio(() => mcpServer(agent, hub), { transport, onerror: onError });
  const ended = new Promise<void>((resolve) => {
    const close = transport.onclose;
    transport.onclose = () => {
      close?.();
      resolve();
    };
  });
  const stop = (): void => {
    serving.close().catch(onError);
  };
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  await ended;
  signal.removeEventListener("abort", stop);
}
