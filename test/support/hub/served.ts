/**
 * A hub over HTTP as a set-up of the behaviour tests: a hub in memory with the test's options, behind the
 * real application, and a client before it. Requests go from the one to the other without a socket, so
 * that a test may have its own time; sockets are in test/client.
 */
import { expect, onTestFinished } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import { httpHub } from "../../../src/http/app.ts";
import { type Hub, type HubOptions, LocalHub, openHub, type Store } from "../../../src/index.ts";
import { openReferenceStore } from "../../../store-contract/reference/open.ts";

/** By address, what is behind it: made when it is first opened, with that hub's clock. */
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

/** A hub that is served, with what is said of it to whoever opens it from elsewhere. */
export async function servedBy(
  hub: LocalHub,
  { address = "http://localhost", ...options }: HubOptions & { readonly address?: string } = {},
): Promise<Hub> {
  const bugs: unknown[] = [];
  const app = httpHub(hub, {
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

/** With the test's options: some are for the client as well, or for the client alone. */
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
