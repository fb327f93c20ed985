/**
 * MCP over stdio, for both protocol eras. stdout carries only the protocol. Ends when the client closes its
 * side or the signal aborts. Accepted work is not released then: its handle stays valid until another process
 * notices that this one has ended; then the work is offered again with all its notes.
 */
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import { mcpServer } from "./server.ts";

interface StdioOptions {
  /** Stops serving when aborted. */
  readonly signal: AbortSignal;
  /** Called with errors that are not part of a response, for logging. */
  readonly onError: (error: Error) => void;
}

/** Serves one client until it disconnects or the signal aborts. */
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
