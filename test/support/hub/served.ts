/**
 * A hub over HTTP for the behaviour tests: a hub in memory with the test's options, served by the
 * real application, and a client of it. Requests do not use a socket, so that a test can control
 * time; test/client tests sockets.
 */
import { expect, onTestFinished } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import { httpHub } from "../../../src/http/app.ts";
import { type Hub, type HubOptions, LocalHub, openHub, type Store } from "../../../src/index.ts";
import { openReferenceStore } from "../../../store-contract/reference/open.ts";

/** The stores by address, opened with the clock of the first hub at that address. */
const stores = new Map<string, Store | undefined>();
let last = 0;

export function servedAddress(): string {
  const address = `http://localhost:${++last}`;
  stores.set(address, undefined);
  onTestFinished(async () => {
    await stores.get(address)?.close();
    stores.delete(address);
  });
  return address;
}

export const isServed = (address: string): boolean => stores.has(address);

/** Serves a hub and returns a client of it. Options are those of a remote caller. */
export async function servedBy(
  hub: LocalHub,
  { address = "http://localhost", ...options }: HubOptions & { readonly address?: string } = {},
): Promise<Hub> {
  const bugs: unknown[] = [];
  const { files } = options;
  const app = httpHub(hub, {
    ...(typeof files === "string" ? { files: { [hub.workspace]: files } } : {}),
    open: "admin",
    rate: { perSecond: 1_000_000, burst: 1_000_000 },
    onBug: (bug) => bugs.push(bug),
  });
  onTestFinished(() => {
    app.close();
    expect(bugs, "what the hub answered with as its own mistake").toEqual([]);
  });
  const remote = await openHub(address, { ...options, fetch: (request) => app.fetch(request) });
  onTestFinished(() => remote.close());
  return remote;
}

/** Opens a served hub with the test's options; some also or only apply to the client. */
export function openServed(address: string, options: HubOptions): Promise<Hub> {
  const { clock = systemClock } = options;
  const store = stores.get(address) ?? openReferenceStore({ clock });
  stores.set(address, store);
  const { workspace, known, files } = options;
  return servedBy(new LocalHub(store, options), {
    address,
    ...(workspace === undefined ? {} : { workspace }),
    ...(known === undefined ? {} : { known }),
    ...(files === undefined ? {} : { files }),
  });
}
