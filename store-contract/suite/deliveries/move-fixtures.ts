/** Deliveries in each state, and the moves of them that the tests of moving share. */
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

/** A delivery in each state that something can lead out of. */
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

/** How a try ends that is taken from its holder. */
export const attemptEnd = (state: DeliveryState) =>
  isHeld(state) ? { ends: { outcome: "cancelled", reason: REASON } as const } : {};

export async function makeDelivery(scene: Scene, state: DeliveryState): Promise<DeliveryRow> {
  const row = await DELIVERY_FACTORIES[state]?.(scene);
  expect(row?.state).toBe(state);
  return row as DeliveryRow;
}

/** Moves what must be refused, and expects that nothing has changed. */
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
