/**
 * Helpers of the behaviour tests: hubs on fresh stores that are closed with the test, and their
 * content.
 */

import { hash } from "node:crypto";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import {
  type Agent,
  type BatonError,
  type Hub,
  type HubOptions,
  isBatonError,
  LocalHub,
  type Offer,
  openHub,
  type Sent,
  type Work,
} from "../../../src/index.ts";
import { openReferenceStore } from "../../../store-contract/reference/open.ts";
import { reusableSchema } from "../postgres/schema.ts";
import { present } from "../present.ts";
import { isServed, openServed, servedAddress } from "./served.ts";

export type EmbeddedStoreName = "sqlite" | "postgres" | "memory";
export type StoreName = EmbeddedStoreName | "http";

/** `BATON_STORES=sqlite` excludes the other stores: `npm run test:quick`. */
const chosen = process.env["BATON_STORES"]?.split(",");
const among = <Name extends string>(names: readonly Name[]): readonly Name[] =>
  chosen === undefined ? names : names.filter((name) => chosen.includes(name));

/** The library's own stores, for tests that bypass the hub or need two hubs on one store. */
export const EMBEDDED_STORES = among<EmbeddedStoreName>(["sqlite", "postgres", "memory"]);

/** Every store, and HTTP: a hub behaves the same on each. */
export const STORES = among<StoreName>(["sqlite", "postgres", "memory", "http"]);

export function tempFolder(): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "baton-behaviour-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function freshAddress(store: StoreName = "sqlite"): string {
  switch (store) {
    case "memory":
      return "memory:";
    case "sqlite":
      return `sqlite:${join(tempFolder(), "hub.db")}`;
    case "postgres": {
      const schema = reusableSchema();
      onTestFinished(() => schema[Symbol.asyncDispose]());
      return schema.address;
    }
    case "http":
      return servedAddress();
  }
}

/** Opens a hub that is closed when the test ends. */
export async function open(address: string, options: HubOptions = {}): Promise<Hub> {
  const hub = isServed(address)
    ? await openServed(address, options)
    : await openHub(address, options);
  onTestFinished(() => hub.close());
  return hub;
}

export function openFresh(store: StoreName = "sqlite", options: HubOptions = {}): Promise<Hub> {
  return open(freshAddress(store), options);
}

/**
 * Opens two hubs on one store, as two processes would: each learns from the store what the other
 * does.
 */
export async function openTwo(
  store: StoreName,
  options: HubOptions = {},
  second: HubOptions = options,
): Promise<readonly [Hub, Hub]> {
  if (store !== "memory") {
    const address = freshAddress(store);
    return [await open(address, options), await open(address, second)];
  }
  const shared = openReferenceStore({ clock: options.clock ?? systemClock });
  onTestFinished(() => shared.close());
  return [new LocalHub(shared, options), new LocalHub(shared, second)];
}

/**
 * Returns the error a call was refused with; throws if it was not refused, or with anything else.
 */
export async function refusal(attempt: Promise<unknown>): Promise<BatonError> {
  const outcome = await attempt.then(
    (value) => new Error(`was not refused but answered ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (!isBatonError(outcome)) throw outcome;
  return outcome;
}

/** Returns everything in a workspace that is visible from outside. */
export async function contents(hub: Hub): Promise<object> {
  const [report, totals, events] = await Promise.all([
    hub.verify(),
    hub.deliveries.totals(),
    hub.events.list({ after: 0 }),
  ]);
  return { report, totals, events };
}

/** Accepts the next handoff; fails if there is none. */
export async function take<T = unknown>(
  agent: Agent,
  which: Parameters<Agent["accept"]>[0] = {},
): Promise<Work<T>> {
  const work = await agent.accept<T>(which);
  expect(work, `${agent.id} has something to accept`).toBeDefined();
  return work as Work<T>;
}

/**
 * Expects that settling throws because the sender extended the work with another handoff: the lease
 * is kept, and the work has the new envelope from then on.
 */
export async function refusedAsExtended(
  held: Work | Offer,
  settle: () => Promise<unknown>,
  by: Sent<object>,
): Promise<void> {
  const { state, fence, leaseUntil } = await by.status();
  const error = await refusal(settle());
  expect(error).toMatchObject({
    code: "work_extended",
    details: { delivery: held.id, envelope: by.envelope.id },
  });
  const after = await by.status();
  expect(after).toMatchObject({ state, fence, envelope: by.envelope.id });
  expect(after.leaseUntil).toBeGreaterThanOrEqual(present(leaseUntil));
  expect(held.envelope).toEqual(by.envelope);
}

/**
 * RFC 8785 for results of JSON.parse, implemented separately so that it does not share our bugs.
 */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`);
  return `{${entries.join(",")}}`;
}

export const sha256 = (text: string): string => hash("sha256", text, "hex");

/** Opens the file of a hub directly, bypassing it, as an intruder would. */
export function breakIn(address: string): DatabaseSync {
  const db = new DatabaseSync(address.slice("sqlite:".length), { timeout: 5_000 });
  onTestFinished(() => {
    if (db.isOpen) db.close();
  });
  return db;
}
