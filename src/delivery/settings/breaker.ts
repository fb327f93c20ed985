/**
 * The breaker of a receiver: after so many different deliveries in a row that were given up (every
 * try used), nothing is sent to it for a while; then one probe may pass, and its completion closes
 * the breaker. Kept in the store, so all processes see the same. A completion takes the entry away,
 * inside the operation that completes; declined work and permanent failures do not count.
 */

import { BatonError } from "../../base/errors.ts";
import { Address } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { BREAKER, type EntryRow } from "../../store/rows.ts";
import { changeEntry, entriesOf, entryValue } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";

interface StoredBreaker {
  /** The deliveries that were given up, the last ones. */
  readonly deliveries: readonly string[];
  /** When it opened; 0: it is closed. */
  readonly openedAt: number;
  /** When a probe was let through; 0: none was. */
  readonly probedAt: number;
}

export interface BreakerInfo {
  readonly receiver: string;
  readonly state: "closed" | "open" | "half-open";
  /** Deliveries in a row that were given up. */
  readonly deliveries: readonly string[];
  /** When the next handoff may pass; absent: now. */
  readonly passesAt?: number;
}

/** A breaker that lets nothing pass now. */
type ShutBreaker = BreakerInfo & { readonly passesAt: number };

const isShut = (info: BreakerInfo): info is ShutBreaker => info.passesAt !== undefined;

const CLOSED: StoredBreaker = { deliveries: [], openedAt: 0, probedAt: 0 };

function infoOf(workspace: Workspace, receiver: string, strikes: StoredBreaker): BreakerInfo {
  const { deliveries, openedAt, probedAt } = strikes;
  if (openedAt === 0) return { receiver, state: "closed", deliveries };
  const waits = Math.max(openedAt, probedAt) + workspace.limits.breakerMs;
  const passes = waits > workspace.clock.now() ? { passesAt: waits } : {};
  const state = probedAt > 0 || passes.passesAt === undefined ? "half-open" : "open";
  return { receiver, state, deliveries, ...passes };
}

/** One more delivery was given up. The same one twice is one. */
export async function recordStrike(
  workspace: Workspace,
  receiver: string,
  delivery: string,
): Promise<void> {
  const { limits, clock } = workspace;
  await changeEntry<StoredBreaker>(workspace, { kind: BREAKER, name: receiver }, (now = CLOSED) => {
    if (now.deliveries.includes(delivery)) return undefined;
    // Open already, and no probe was let through: what else was given up meanwhile says nothing new.
    if (now.openedAt > 0 && now.probedAt === 0) return undefined;
    const deliveries = [...now.deliveries, delivery].slice(-limits.breakerStrikes);
    if (deliveries.length < limits.breakerStrikes) return { value: { ...now, deliveries } };
    const value = { deliveries, openedAt: clock.now(), probedAt: 0 };
    return { value, event: { kind: "breaker_opened", agent: receiver } };
  });
}

/**
 * Whether something may be sent, when the receiver has an entry: the revision to send with, or the
 * breaker that is in the way. Of all who ask after the pause one is let through.
 */
export async function checkBreaker(
  workspace: Workspace,
  receiver: string,
  entry: EntryRow | undefined,
): Promise<number | ShutBreaker> {
  const strikes = entryValue<StoredBreaker>(entry);
  if (entry === undefined || strikes === undefined) return 0;
  const info = infoOf(workspace, receiver, strikes);
  if (info.state === "closed") return entry.revision;
  if (isShut(info)) return info;
  let probing = false;
  const name = { kind: BREAKER, name: receiver };
  const after = await changeEntry<StoredBreaker>(workspace, name, (now = CLOSED) => {
    const { state, passesAt } = infoOf(workspace, receiver, now);
    probing = state !== "closed" && passesAt === undefined;
    return probing ? { value: { ...now, probedAt: workspace.clock.now() } } : undefined;
  });
  return probing ? (after?.revision ?? 0) : checkBreaker(workspace, receiver, after);
}

export function circuitOpen(info: ShutBreaker): BatonError {
  const { receiver, deliveries, passesAt } = info;
  const when = new Date(passesAt).toISOString();
  return new BatonError("circuit_open", {
    message: `The breaker of "${receiver}" is open: ${deliveries.length} handoffs in a row were given up.`,
    path: "to",
    hint: `Try again after ${when}, name a fallback, or reset it: hub.agents.resetBreaker("${receiver}").`,
    details: { receiver, deliveries, passesAt },
  });
}

export async function listBreakers(workspace: Workspace): Promise<BreakerInfo[]> {
  const all: BreakerInfo[] = [];
  for await (const entry of entriesOf(workspace, BREAKER)) {
    all.push(infoOf(workspace, entry.name, entryValue<StoredBreaker>(entry) ?? CLOSED));
  }
  return all;
}

export async function resetBreaker(workspace: Workspace, receiver: string): Promise<void> {
  parseOrThrow(Address, receiver, {
    code: "invalid_input",
    what: "The receiver",
    prefix: "receiver",
  });
  const event = { kind: "breaker_reset", agent: receiver } as const;
  await changeEntry<StoredBreaker>(workspace, { kind: BREAKER, name: receiver }, (now) =>
    now === undefined ? undefined : { value: undefined, event },
  );
}
