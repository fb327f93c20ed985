/**
 * Serves the hub on a port: a thin Node listener around `fetch`. Listens on loopback by default; any other
 * address requires tokens. Closing answers calls in progress, ends waiting calls, then closes the hub.
 */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { isIPv6, type Socket } from "node:net";
import { hostname } from "node:os";
import { createAdaptorServer } from "@hono/node-server";
import { BatonError } from "../base/errors.ts";
import type { LocalHub } from "../hub/hub.ts";
import { type HttpOptions, httpHub } from "./app.ts";

export const DEFAULT_PORT = 4747;
export const DEFAULT_HOST = "127.0.0.1";

/** How long calls in progress may take when the hub closes. */
const GRACE_MS = 10_000;
/** A request that is not complete by then is dropped, so that slow senders do not hold connections. */
const REQUEST_MS = 60_000;
const HEADERS_MS = 10_000;
/**
 * How long an idle connection is kept open: longer than the minute after which proxies in front of the hub
 * usually close it. The calling side must close first: with Node's default of five seconds, one in a thousand
 * calls was sent on a connection that the hub was just closing.
 */
const KEEP_ALIVE_MS = 65_000;

/**
 * Connections that may wait to be accepted (the system may allow fewer). Of a thousand clients that connected
 * at once, Node's default of 511 made some wait a minute: the system silently drops the excess, and they
 * retry after 1, 3, 7, … 63 seconds.
 */
const BACKLOG = 4_096;

/** Options of `listen()`. */
export interface ListenOptions extends Omit<HttpOptions, "open"> {
  /** Port (default: 4747); 0 chooses a free one. */
  readonly port?: number;
  /** Address to listen on (default: 127.0.0.1). */
  readonly host?: string;
  /** True: callers on this machine need a token, too (default: false). */
  readonly requireTokens?: boolean;
}

/** A hub that listens on a port. */
export interface HubServer {
  /** The URL of the hub, such as `http://127.0.0.1:4747`. */
  readonly address: string;
  readonly port: number;
  /** True if callers without a token are accepted. */
  readonly isOpen: boolean;
  /** Stops listening, answers calls in progress, then closes the hub. */
  close(): Promise<void>;
}

/** Serves the hub on a port. Throws cannot_listen if the port is taken or not allowed. */
export async function listen(hub: LocalHub, options: ListenOptions = {}): Promise<HubServer> {
  const { port = DEFAULT_PORT, host = DEFAULT_HOST, requireTokens = false, ...rest } = options;
  const isOpen = isLoopback(host) && !requireTokens;
  const hosts = [...(rest.hosts ?? []), host, ...(isLoopback(host) ? [] : [hostname()])];
  const app = httpHub(hub, {
    ...rest,
    hosts: hosts.map((name) => inAddress(name).toLowerCase()),
    open: isOpen ? "coordinator" : false,
  });
  const { promise: bound, resolve, reject } = Promise.withResolvers<number>();
  const refuse = (error: unknown) => cannotListen(error as NodeJS.ErrnoException, host, port);
  const server = createAdaptorServer({
    fetch: app.fetch,
    hostname: host,
    serverOptions: {
      requestTimeout: REQUEST_MS,
      headersTimeout: HEADERS_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
  }) as Server;
  try {
    server.listen({ port, host, backlog: BACKLOG }, () =>
      resolve((server.address() as AddressInfo).port),
    );
  } catch (error) {
    throw refuse(error); // An invalid port number.
  }
  const closeIdle = idleCloser(server);
  server.once("error", (error) => reject(refuse(error)));
  const boundTo = await bound;
  const stopWaiting = (): void => {
    app.close();
    closeIdle();
  };
  let closed: Promise<void> | undefined;
  return {
    address: `http://${inAddress(host)}:${boundTo}`,
    port: boundTo,
    isOpen,
    close: () => (closed ??= closeServer(server, stopWaiting, hub)),
  };
}

async function closeServer(server: Server, stopWaiting: () => void, hub: LocalHub): Promise<void> {
  const ended = new Promise<void>((done) => server.close(() => done()));
  stopWaiting();
  const late = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  await ended;
  clearTimeout(late);
  await hub.close();
}

/**
 * Returns a function that closes every connection as soon as it has no call in progress. Node alone treats a
 * connection that was opened and never used as busy, and keeps one that is answered meanwhile for another
 * five seconds.
 */
function idleCloser(server: Server): () => void {
  const unused = new Set<Socket>();
  let isClosing = false;
  server.on("connection", (socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  server.on("request", ({ socket }, response) => {
    unused.delete(socket);
    response.once("close", () => {
      if (isClosing) server.closeIdleConnections();
    });
  });
  return () => {
    isClosing = true;
    server.closeIdleConnections();
    for (const socket of unused) socket.destroy();
  };
}

/** Returns a host as URLs and the Host header write it: IPv6 in brackets. */
const inAddress = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

/** Returns whether a host is a loopback address. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): BatonError {
  const isTaken = error.code === "EADDRINUSE";
  return new BatonError("cannot_listen", {
    message: isTaken
      ? `Port ${port} on ${host} is already in use.`
      : `Cannot listen on ${host}, port ${port} (${error.code}).`,
    path: "port",
    hint: isTaken
      ? "Run baton doctor to check whether a hub is already running there, or choose another port with --port (0 for any)."
      : "Choose another address with --host or --port.",
    details: { host, port, cause: error.code },
    cause: error,
  });
}
