/**
 * Serves the hub on a port: a thin Node listener around `fetch`. Listens on loopback by default, where programs
 * of the same user find a token by themselves (local-access.ts) and a Unix socket beside it; any other address
 * requires issued tokens. Closing answers calls in progress, ends waiting calls, then closes the hub.
 */
import { chmodSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo, ListenOptions as NetListenOptions } from "node:net";
import { isIPv6, type Socket } from "node:net";
import { hostname } from "node:os";
import { createAdaptorServer } from "@hono/node-server";
import { BatonError, isBatonError } from "../base/errors.ts";
import { PRIVATE_FILE } from "../base/files/private-file.ts";
import { isLoopback } from "../base/loopback.ts";
import type { LocalHub } from "../hub/hub.ts";
import { type HttpHub, type HttpOptions, httpHub } from "./app.ts";
import type { AnonymousAccess } from "./caller.ts";
import { LocalAccess, loginCode } from "./local-access.ts";
import { publishToken } from "./local-files.ts";

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
export interface ListenOptions extends Omit<HttpOptions, "local"> {
  /** Port (default: 4747); 0 chooses a free one. */
  readonly port?: number;
  /** Address to listen on (default: 127.0.0.1). */
  readonly host?: string;
  /** True: callers on this machine need an issued token, too (default: false). */
  readonly requireTokens?: boolean;
  /** Access level of callers on this machine without a token (default: none). For tests. */
  readonly open?: AnonymousAccess;
}

/** What programs and browsers of this user on this machine need. */
export interface LocalEntry {
  /** The file with the token of this start. */
  readonly tokenFile: string;
  /** A Unix socket whose callers need no token; undefined if the system has none. */
  readonly socket: string | undefined;
  /** A URL that signs in one browser, once. */
  readonly login: string;
}

/** A hub that listens on a port. */
export interface HubServer {
  /** The URL of the hub, such as `http://127.0.0.1:4747`. */
  readonly address: string;
  readonly port: number;
  /** How callers of this user on this machine authenticate; undefined: by issued tokens only. */
  readonly local: LocalEntry | undefined;
  /** Stops listening, answers calls in progress, then closes the hub. */
  close(): Promise<void>;
}

/**
 * Serves the hub on a port. Throws cannot_listen if the port is taken or not allowed, and file_unusable if
 * the token for this machine cannot be stored.
 */
export async function listen(hub: LocalHub, options: ListenOptions = {}): Promise<HubServer> {
  const {
    port = DEFAULT_PORT,
    host = DEFAULT_HOST,
    requireTokens = false,
    open,
    ...rest
  } = options;
  const isLocal = isLoopback(host) && !requireTokens;
  const hosts = [...(rest.hosts ?? []), host, ...(isLoopback(host) ? [] : [hostname()])];
  const local = isLocal ? new LocalAccess() : undefined;
  const app = httpHub(hub, {
    ...rest,
    hosts: hosts.map((name) => inAddress(name).toLowerCase()),
    open: isLocal ? (open ?? false) : false,
    local,
  });
  const server = createServer(app.fetch, host);
  // The token is stored before the first connection is accepted, so that no client reads an old one.
  const { boundTo, published } = await bind(server, { port, host, backlog: BACKLOG }, () => {
    const { port: boundTo } = server.address() as AddressInfo;
    return { boundTo, published: local && publishToken(local.token, host, boundTo) };
  }).catch((error: unknown) => {
    server.close();
    throw isBatonError(error) ? error : cannotListen(error as NodeJS.ErrnoException, host, port);
  });
  const socket = local && (await listenOnSocket(app, local, published?.socket));
  const servers = [server, ...(socket === undefined ? [] : [socket])];
  const closers = servers.map(idleCloser);
  const stopWaiting = (): void => {
    published?.remove();
    app.close();
    for (const closeIdle of closers) closeIdle();
  };
  const address = `http://${inAddress(host)}:${boundTo}`;
  let closed: Promise<void> | undefined;
  return {
    address,
    port: boundTo,
    local: published && {
      tokenFile: published.file,
      socket: socket && published.socket,
      login: loginAddress(address, (local as LocalAccess).token),
    },
    close: () => (closed ??= closeServers(servers, stopWaiting, hub)),
  };
}

/** Returns a URL that signs in one browser, once. */
export const loginAddress = (address: string, token: string): string =>
  `${address}/login?code=${loginCode(token)}`;

const createServer = (fetch: HttpHub["fetch"], hostname: string): Server =>
  createAdaptorServer({
    fetch: (request, { incoming }) => fetch(request, () => incoming.socket.remoteAddress),
    hostname,
    serverOptions: {
      requestTimeout: REQUEST_MS,
      headersTimeout: HEADERS_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
  }) as Server;

/** Resolves to the result of `onBound`, which runs before the first connection is accepted. */
function bind<T>(server: Server, where: NetListenOptions, onBound: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    // Throws for an invalid port number.
    server.listen(where, () => {
      try {
        resolve(onBound());
      } catch (error) {
        reject(error);
      }
    });
  });
}

/**
 * Listens on a Unix socket that only this user can open; its callers have the token. Returns undefined where
 * the file system has no sockets: clients use the port then.
 */
async function listenOnSocket(
  app: HttpHub,
  local: LocalAccess,
  path: string | undefined,
): Promise<Server | undefined> {
  if (path === undefined) return undefined;
  const server = createServer((request) => app.fetch(local.authorize(request)), "localhost");
  try {
    await bind(server, { path, backlog: BACKLOG }, () => chmodSync(path, PRIVATE_FILE));
    return server;
  } catch {
    server.close();
    return undefined;
  }
}

async function closeServers(
  servers: readonly Server[],
  stopWaiting: () => void,
  hub: LocalHub,
): Promise<void> {
  const ended = servers.map((server) => new Promise<void>((done) => server.close(() => done())));
  stopWaiting();
  const late = setTimeout(() => {
    for (const server of servers) server.closeAllConnections();
  }, GRACE_MS);
  await Promise.all(ended);
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
