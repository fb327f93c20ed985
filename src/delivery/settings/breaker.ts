/**
 * Circuit breaker of each receiver: opens after `limits.breakerStrikes` different deliveries in a row were
 * given up (all attempts used). While it is open, nothing is sent to the receiver; after `limits.breakerMs`
 * one probe handoff may pass, and its completion closes the breaker.
 *
 * Breakers are entries in the store, so that all processes see the same state. A completion deletes the entry
 * inside the operation that completes; declined work and permanent failures do not count.
 */

import { BatonError } from "../../base/errors.ts";
import { Address } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { BREAKER, type EntryRow } from "../../store/rows.ts";
import { changeEntry, entriesOf, entryValue } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";

interface StoredBreaker {
  /** Ids of the deliveries most recently given up, at most `limits.breakerStrikes`. */
  readonly deliveries: readonly string[];
  /** When it opened, in milliseconds since 1970; 0 while it is closed. */
  readonly openedAt: number;
  /** When the last probe was sent, in milliseconds since 1970; 0 if none was. */
  readonly probedAt: number;
}

/** The circuit breaker of one receiver. */
export interface BreakerInfo {
  readonly receiver: string;
  readonly state: "closed" | "open" | "half-open";
  /** Ids of the deliveries that were given up in a row. */
  readonly deliveries: readonly string[];
  /** When the next handoff may pass, in milliseconds since 1970; absent if one may pass now. */
  readonly passesAt?: number;
}

/** A breaker that blocks handoffs now. */
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

/** Counts a delivery that was given up; the same delivery counts once. Opens the breaker at the limit. */
export async function recordStrike(
  workspace: Workspace,
  receiver: string,
  delivery: string,
): Promise<void> {
  const { limits, clock } = workspace;
  await changeEntry<StoredBreaker>(workspace, { kind: BREAKER, name: receiver }, (now = CLOSED) => {
    if (now.deliveries.includes(delivery)) return undefined;
    // Already open and no probe was sent: further deliveries given up meanwhile add no information.
    if (now.openedAt > 0 && now.probedAt === 0) return undefined;
    const deliveries = [...now.deliveries, delivery].slice(-limits.breakerStrikes);
    if (deliveries.length < limits.breakerStrikes) return { value: { ...now, deliveries } };
    const value = { deliveries, openedAt: clock.now(), probedAt: 0 };
    return { value, event: { kind: "breaker_opened", agent: receiver } };
  });
}

/**
 * Decides whether a handoff may be sent to a receiver. Returns the revision of the breaker's entry to send
 * with (0 without an entry), or the breaker that blocks it. After the pause, exactly one caller may probe.
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

/** Returns the `circuit_open` error for a handoff that the breaker blocks. */
export function circuitOpen(info: ShutBreaker): BatonError {
  const { receiver, deliveries, passesAt } = info;
  const when = new Date(passesAt).toISOString();
  return new BatonError("circuit_open", {
    message: `The circuit breaker of "${receiver}" is open: ${deliveries.length} handoffs in a row were given up.`,
    path: "to",
    hint: `Retry after ${when}, set policy.fallback, or reset it: hub.agents.resetBreaker("${receiver}").`,
    details: { receiver, deliveries, passesAt },
  });
}

/** Returns the circuit breaker of every receiver that has one. */
export async function listBreakers(workspace: Workspace): Promise<BreakerInfo[]> {
  const all: BreakerInfo[] = [];
  for await (const entry of entriesOf(workspace, BREAKER)) {
    all.push(infoOf(workspace, entry.name, entryValue<StoredBreaker>(entry) ?? CLOSED));
  }
  return all;
}

/** Closes the breaker of a receiver (`<agent>` or `role:<role>`); does nothing if it has none. */
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
