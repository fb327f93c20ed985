/**
 * One store that several hubs share as if each ran in its own process, and stores that fail as if
 * the process had died.
 */
import { onTestFinished } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import {
  BatonError,
  DEFAULT_LIMITS,
  type Hub,
  type HubOptions,
  LocalHub,
  type Store,
} from "../../../src/index.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { openReferenceStore } from "../../../store-contract/reference/open.ts";
import { servedBy } from "./served.ts";
import { freshAddress, openTwo, type StoreName } from "./support.ts";

/** Opens the same store again, as another process would. */
export type Reopen = () => Promise<Store>;

export function sharedStore(store: StoreName, { clock = systemClock }: HubOptions = {}): Reopen {
  const address = freshAddress(store === "http" ? "memory" : store);
  const limits = DEFAULT_LIMITS;
  const inMemory =
    store === "memory" || store === "http" ? openReferenceStore({ clock }) : undefined;
  return async () => {
    const opened =
      inMemory ??
      (store === "postgres"
        ? await openPostgresStore({ address, clock, limits, create: true })
        : await openSqliteStore({ file: address.slice("sqlite:".length), clock, limits }));
    onTestFinished(() => opened.close());
    return opened;
  };
}

/** Returns a hub on an open store; over HTTP, a served one. */
export async function hubOn(
  store: StoreName,
  opened: Store,
  options: HubOptions = {},
): Promise<Hub> {
  const hub = new LocalHub(opened, options);
  if (store !== "http") return hub;
  const { workspace } = options;
  return servedBy(hub, workspace === undefined ? {} : { workspace });
}

/** Opens two hubs on one store. */
export async function twoHubs(
  store: StoreName,
  options: HubOptions = {},
): Promise<readonly [Hub, Hub]> {
  if (store === "http") return openTwo(store, options);
  const reopen = sharedStore(store, options);
  return [new LocalHub(await reopen(), options), new LocalHub(await reopen(), options)];
}

/** Returns the store of a process that dies right after the operation of this name. */
export function dyingAfter(operation: keyof Store, store: Store): Store {
  let dead = false;
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function" || name === "onWake" || name === "close") {
        return typeof value === "function" ? value.bind(target) : value;
      }
      return async (...given: unknown[]) => {
        if (dead) throw new BatonError("store_closed", { message: "It died.", hint: "None." });
        const answer = await (value as (...args: unknown[]) => Promise<unknown>).apply(
          target,
          given,
        );
        if (name === operation) dead = true;
        return answer;
      };
    },
  });
}

/**
 * Operations that change nothing but the end of a lease: dying after one equals dying after the
 * write before it.
 */
const READS = /^(find|list|read|recent|count|search|indexState|verify|query|renew)/;

/** Returns the store of a process that dies right after this many writes. */
export function dyingAfterWrites(
  writes: number,
  store: Store,
): { readonly store: Store; readonly isDead: boolean } {
  let left = writes;
  const mortal = new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function") return value;
      if (name === "onWake" || name === "close") return value.bind(target);
      return async (...given: unknown[]) => {
        if (left <= 0) throw died();
        const operation = value as (...args: unknown[]) => Promise<unknown>;
        const answer = await operation.apply(target, given);
        if (!READS.test(name) && --left <= 0) throw died(); // Written, but never reported.
        return answer;
      };
    },
  });
  return {
    store: mortal,
    get isDead() {
      return left <= 0;
    },
  };
}

const died = (): BatonError =>
  new BatonError("store_closed", { message: "It died.", hint: "None." });
