/**
 * The hub on a port of this machine: a thin Node listener around `fetch`. Loopback unless told; any other
 * address takes tokens. Closing lets what is under way be answered, ends what waits, then closes the hub.
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

/** How long calls that are under way may take when the hub closes. */
const GRACE_MS = 10_000;
/** A request that is not whole by then is given up: slow senders hold no connection for long. */
const REQUEST_MS = 60_000;
const HEADERS_MS = 10_000;
/**
 * How long a connection may be quiet between two calls: longer than the minute after which whatever stands
 * before the hub hangs up itself. Who hangs up first must be the side that calls: after Node's five
 * seconds, one in a thousand calls met a hub that was just hanging up.
 */
const KEEP_ALIVE_MS = 65_000;

/**
 * Connections that may wait to be taken; the system allows fewer where it is set up so. Of a thousand clients
 * that came at once, Node's 511 left some to come back after a minute: the system drops what is too many
 * without a word, and they try again after 1, 3, 7, … 63 seconds.
 */
const BACKLOG = 4_096;

export interface ListenOptions extends Omit<HttpOptions, "open"> {
  readonly port?: number;
  readonly host?: string;
  /** True: also callers on this machine need a token. */
  readonly requireTokens?: boolean;
}

export interface HubServer {
  /** `http://127.0.0.1:4747` */
  readonly address: string;
  readonly port: number;
  /** Whether callers without a token get in. */
  readonly isOpen: boolean;
  /** Stops listening, answers what is under way, then closes the hub. */
  close(): Promise<void>;
}

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
    throw refuse(error); // A port that is none.
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
 * From then on, connections close as soon as nothing is under way on them. Node alone takes one that was
 * opened and never used for busy, and keeps one that is answered meanwhile for another five seconds.
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

/** As it stands in an address, and so in the header that callers name the host by. */
const inAddress = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): BatonError {
  const isTaken = error.code === "EADDRINUSE";
  return new BatonError("cannot_listen", {
    message: isTaken
      ? `Port ${port} on ${host} is taken.`
      : `The hub cannot listen on ${host}, port ${port} (${error.code}).`,
    path: "port",
    hint: isTaken
      ? "A hub may be running there already: baton doctor tells. Else name another with --port, or 0 for any."
      : "Name another address with --host or --port.",
    details: { host, port, cause: error.code },
    cause: error,
  });
}
