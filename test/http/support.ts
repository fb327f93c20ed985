/**
 * Hubs with an HTTP interface for tests: in this process through `fetch`, or listening on a port.
 */
import { onTestFinished } from "vitest";
import { type HttpHub, type HttpOptions, httpHub } from "../../src/http/app.ts";
import { type HubServer, type ListenOptions, listen } from "../../src/http/listen.ts";
import type { LocalHub } from "../../src/hub/hub.ts";
import type { HubOptions } from "../../src/index.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";
import { freshAddress, type StoreName } from "../support/hub/support.ts";

export interface Served {
  readonly hub: LocalHub;
  readonly http: HttpHub;
  /** What the hub reported as a bug; must stay empty. */
  readonly bugs: unknown[];
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

export const HERE = "http://127.0.0.1";

/** Opens a hub whose HTTP interface is called without a socket. */
export async function served(
  options: HttpOptions & { readonly store?: StoreName; readonly hub?: HubOptions } = {},
): Promise<Served> {
  const { store = "memory", hub: hubOptions = {}, ...rest } = options;
  const hub = await openLocalHub(freshAddress(store), hubOptions);
  const bugs: unknown[] = [];
  const http = httpHub(hub, { onBug: (bug) => bugs.push(bug), ...rest });
  onTestFinished(async () => {
    http.close();
    await hub.close();
  });
  const fetch = (path: string, init: RequestInit = {}) =>
    http.fetch(new Request(`${HERE}${path}`, init));
  return { hub, http, bugs, fetch };
}

export interface Listened {
  readonly hub: LocalHub;
  readonly listening: HubServer;
  readonly bugs: unknown[];
}

/** Opens a hub that listens on a free port. */
export async function listened(
  address: string,
  options: ListenOptions & { readonly hub?: HubOptions } = {},
): Promise<Listened> {
  const { hub: hubOptions = {}, ...rest } = options;
  const hub = await openLocalHub(address, hubOptions);
  const bugs: unknown[] = [];
  const listening = await listen(hub, {
    port: 0,
    open: "coordinator",
    onBug: (bug) => bugs.push(bug),
    ...rest,
  });
  onTestFinished(() => listening.close());
  return { hub, listening, bugs };
}

/** Returns the headers that name the calling agent and its session. */
export const as = (agent: string, session = "s-1"): Record<string, string> => ({
  "baton-agent": agent,
  "baton-session": session,
});

export const bearing = (token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
});

export const json = { "content-type": "application/json" } as const;

/** Returns a POST request with a JSON body. */
export const posting = (body: unknown, headers: Readonly<Record<string, string>> = {}) => ({
  method: "POST",
  headers: { ...json, ...headers },
  body: JSON.stringify(body),
});
