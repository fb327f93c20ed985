/** Helpers for tests of tokens: hubs with direct access to their store, and forged token texts. */
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { onTestFinished } from "vitest";
import { DEFAULT_LIMITS, type Hub, type HubOptions, LocalHub } from "../../src/index.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/store/store.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { openReferenceStore } from "../../store-contract/reference/open.ts";
import { openFresh, type StoreName, tempFolder } from "../support/hub/support.ts";

/** Returns the hub as a local one, which can authenticate tokens. */
export function local(hub: Hub): LocalHub {
  if (hub instanceof LocalHub) return hub;
  throw new Error("the hub has no store of its own");
}

export async function openLocal(store: StoreName, options: HubOptions = {}): Promise<LocalHub> {
  return local(await openFresh(store, options));
}

export interface Counted {
  readonly store: Store;
  readonly hub: LocalHub;
  readonly clock: VirtualClock;
  /** Returns how often a token was looked up in the store. */
  lookUps(): number;
  /** Returns how often an entry was written. */
  writes(): number;
}

/** Opens a hub on a store in memory that counts token lookups. */
export function openCounted(options: HubOptions = {}): Counted {
  const clock = new VirtualClock();
  return counted(openReferenceStore({ clock }), { ...options, clock });
}

/** Opens a hub on a SQLite file that counts token lookups, for tests with many rows. */
export async function openCountedFile(): Promise<Counted> {
  const clock = new VirtualClock();
  const file = join(tempFolder(), "hub.db");
  return counted(await openSqliteStore({ file, clock, limits: DEFAULT_LIMITS }), { clock });
}

function counted(kept: Store, options: HubOptions & { readonly clock: VirtualClock }): Counted {
  let lookUps = 0;
  let writes = 0;
  const store = new Proxy<Store>(kept, {
    get(target, name) {
      if (name === "findEntry") lookUps++;
      if (name === "putEntry") writes++;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const hub = new LocalHub(store, options);
  onTestFinished(() => hub.close());
  return { store, hub, clock: options.clock, lookUps: () => lookUps, writes: () => writes };
}

/** Returns the bytes of a token's text: version, id, secret, workspace, checksum. */
export const bytesOf = (token: string): Buffer =>
  Buffer.from(token.slice("baton_".length), "base64url");

export const secretOf = (token: string): Buffer => bytesOf(token).subarray(17, 49);

export const idBytes = (id: string): Buffer => Buffer.from(id.slice(4).replaceAll("-", ""), "hex");

/** Returns a forged token text with a valid checksum. */
export function textOf(parts: {
  readonly version?: number;
  readonly id: Buffer;
  readonly secret: Buffer;
  readonly workspace: Buffer | string;
}): string {
  const { version = 1, id, secret, workspace } = parts;
  const body = Buffer.concat([Buffer.of(version), id, secret, Buffer.from(workspace)]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return `baton_${Buffer.concat([body, sum]).toString("base64url")}`;
}
