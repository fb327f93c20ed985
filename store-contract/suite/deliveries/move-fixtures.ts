/** Fixtures for the tests of moves: deliveries in each state, and moves that several tests use. */
import { expect } from "vitest";
import {
  type DeliveryRow,
  type DeliveryState,
  HELD_STATES,
  isHeld,
} from "../../../src/store/rows.ts";
import type { DeliveryWithEnvelopeRow, MoveDeliveries } from "../../../src/store/store.ts";
import { expectSingle } from "../expectations.ts";
import { LEASE_MS } from "../handoff-input.ts";
import type { Scene } from "../scene.ts";

export const NO_ENVELOPE = "env_00000000-0000-7000-8000-000000000000";

export const REASON = '{"reason":"test"}';

/** Creates a delivery, by each state that a delivery can leave. */
const DELIVERY_FACTORIES: Readonly<Record<string, (scene: Scene) => Promise<DeliveryRow>>> = {
  ready: async (scene) => (await scene.send()).delivery,
  scheduled: async (scene) =>
    (await scene.send({ state: "scheduled", delayMs: LEASE_MS })).delivery,
  claimed: async (scene) => {
    await scene.send();
    return (await scene.claimOne("ben", { process: "p1" })).delivery;
  },
  accepted: async (scene) => (await scene.underWay()).delivery,
  waiting: async (scene) =>
    (await scene.settle(await scene.underWay(), { kind: "asked" })).delivery,
  dead: async (scene) =>
    (await scene.settle(await scene.underWay(), { kind: "failed", becomes: "dead" })).delivery,
};

export const STATES = Object.keys(DELIVERY_FACTORIES) as DeliveryState[];

/** Returns how the attempt ends when work is taken from its holder; empty if it is not held. */
export const attemptEnd = (state: DeliveryState) =>
  isHeld(state) ? { ends: { outcome: "cancelled", reason: REASON } as const } : {};

export async function makeDelivery(scene: Scene, state: DeliveryState): Promise<DeliveryRow> {
  const row = await DELIVERY_FACTORIES[state]?.(scene);
  expect(row?.state).toBe(state);
  return row as DeliveryRow;
}

/** Makes a move that must be refused without changing anything. Returns the outcome. */
export function expectRefusedMove(scene: Scene, operation: MoveDeliveries) {
  return scene.unchanged(() => scene.store.moveDeliveries(operation));
}

export async function reroute(
  scene: Scene,
  row: DeliveryRow,
  receiver: string,
): Promise<DeliveryRow> {
  const memory = scene.decision("reroute", [row], { to: receiver });
  const move = scene.moveOf(row, {
    to: "ready",
    event: "rerouted",
    receiver,
    ...attemptEnd(row.state),
  });
  return expectSingle((await scene.move([move], { memory })).deliveries);
}

export async function remind(scene: Scene, row: DeliveryRow): Promise<unknown> {
  return scene.move([scene.moveOf(row, { to: row.state, event: "reminded" })]);
}

export async function listHeld({
  store,
  workspace,
}: Scene): Promise<readonly DeliveryWithEnvelopeRow[]> {
  return store.listDeliveries({ workspace, receivers: ["ben"], states: HELD_STATES, limit: 9 });
}
