/**
 * A hub over HTTP as a set-up of the behaviour tests: a hub in memory with the test's options, behind the
 * real application, and a client before it. Requests go from the one to the other without a socket, so
 * that a test may have its own time; sockets are in test/client.
 */
import { expect, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { httpHub } from "../../src/http/app.ts";
import { type Hub, type HubOptions, LocalHub, openHub, type Store } from "../../src/index.ts";
import { openReferenceStore } from "../../src/store/reference/open.ts";

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

/** Options for the client alone; everything else is the hub's that is served. */
const CLIENTS = ["known", "files"] as const;

export async function openServed(address: string, options: HubOptions): Promise<Hub> {
  const { clock = systemClock, workspace } = options;
  const store = stores.get(address) ?? openReferenceStore({ clock });
  stores.set(address, store);
  const bugs: unknown[] = [];
  const app = httpHub(new LocalHub(store, options), {
    open: "admin",
    rate: { perSecond: 1_000_000, burst: 1_000_000 },
    onBug: (bug) => bugs.push(bug),
  });
  onTestFinished(() => {
    app.close();
    expect(bugs, "what the hub answered with as its own mistake").toEqual([]);
  });
  const own = Object.fromEntries(
    CLIENTS.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  );
  const named = workspace === undefined ? {} : { workspace };
  return openHub(address, { ...own, ...named, fetch: (request) => app.fetch(request) });
}
