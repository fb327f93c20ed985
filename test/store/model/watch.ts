/**
 * Invariants after every step: a delivery changes only as the table of transitions allows, its
 * fence and attempt only grow, a settled delivery does not change, and no delivery is held before
 * an earlier one of its receiver and task.
 */
import { expect } from "vitest";
import { isLegal, TERMINAL_STATES, TRANSITIONS } from "../../../src/delivery/settle/transitions.ts";
import {
  DELIVERY_STATES,
  type DeliveryRow,
  type DeliveryState,
  isHeld,
  isOpen,
} from "../../../src/store/rows.ts";
import { type Side, WORKSPACE } from "./side.ts";

type From = DeliveryState | undefined;

/** Transitions that time causes when an agent claims, before the claim itself. */
const BY_TIME = [TRANSITIONS.mature];

export class Watch {
  readonly #side: Side;
  readonly #known = new Map<string, DeliveryRow>();
  #events = 0;

  constructor(side: Side) {
    this.#side = side;
  }

  async look(burst: boolean): Promise<void> {
    const { store } = this.#side;
    const events = await store.readEvents(WORKSPACE, this.#events, 1_000);
    this.#events = events.at(-1)?.number ?? this.#events;
    const ids = new Set([
      ...this.#known.keys(),
      ...events.map((event) => event.delivery).filter(Boolean),
    ]);
    for (const id of ids) {
      const now = (await store.findDelivery(WORKSPACE, id))?.delivery;
      expect(now, `delivery ${id}`).toBeDefined();
      if (now === undefined) continue;
      this.#compare(this.#known.get(id), now, burst);
      this.#known.set(id, now);
    }
    for (const row of this.#known.values()) this.#inOrder(row);
  }

  #inOrder(row: DeliveryRow): void {
    if (!isOpen(row.state)) return;
    const earlier = [...this.#known.values()].filter(
      (each) =>
        isOpen(each.state) &&
        each.receiver === row.receiver &&
        each.task === row.task &&
        each.place < row.place,
    );
    expect(row.inTurn, `${row.id}: is it in turn?`).toBe(earlier.length === 0);
    if (isHeld(row.state)) expect(row.inTurn, `${row.id} is held`).toBe(true);
  }

  #compare(before: DeliveryRow | undefined, now: DeliveryRow, burst: boolean): void {
    const change = `${now.id}: ${before?.state ?? "nothing"} → ${now.state}`;
    if (before !== undefined && TERMINAL_STATES.includes(before.state)) {
      expect(now, `${change}, but it had ended`).toEqual(before);
      return;
    }
    const legal = burst ? reachable(before?.state, now.state) : oneStep(before?.state, now.state);
    const same = before !== undefined && before.state === now.state;
    expect(legal || same, `${change} is not in the table`).toBe(true);
    expect(now.fence, change).toBeGreaterThanOrEqual(before?.fence ?? 0);
    expect(now.attempt, change).toBe(now.fence);
    expect(now.attempt, change).toBeLessThanOrEqual(now.maxAttempts);
    if (!burst) expect(now.fence - (before?.fence ?? 0), change).toBeLessThanOrEqual(1);
  }
}

function oneStep(from: From, to: DeliveryState): boolean {
  if (isLegal(from, to)) return true;
  const afterTime = BY_TIME.flatMap((each) =>
    from !== undefined && (each.from as readonly DeliveryState[]).includes(from)
      ? (each.to as readonly DeliveryState[])
      : [],
  );
  return afterTime.some((middle) => middle === to || isLegal(middle, to));
}

function reachable(from: From, to: DeliveryState): boolean {
  const seen = new Set<From>([from]);
  for (const each of seen) {
    for (const next of DELIVERY_STATES) if (isLegal(each, next)) seen.add(next);
  }
  return seen.has(to);
}
