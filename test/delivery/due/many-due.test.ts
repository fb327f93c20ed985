/** Many deliveries that fall due together: carried out in order of their times, a bounded number at once. */
import { describe, expect, it, onTestFinished } from "vitest";
import { type Hub, LocalHub, type Store } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openReferenceStore } from "../../../store-contract/reference/open.ts";
import { EMBEDDED_STORES, openFresh } from "../../support/hub/support.ts";

const DUE = 300;
/** What one round holds in memory at most, however many are due. */
const MOST_AT_ONCE = 100;

/** Sends handoffs, the last of which is due first. Returns their deliveries in order of due time. */
async function sendInReverse(hub: Hub): Promise<string[]> {
  const ada = await hub.agent("ada", { role: "planner" });
  await hub.agent("ben", { role: "coder" });
  const sent = await Promise.all(
    Array.from({ length: DUE }, (_, n) => {
      const policy = { deadlineMs: 1_000 + DUE - n };
      return ada.handoff({ to: "ben", task: `task ${n}`, intent: "Wait", policy });
    }),
  );
  return sent.map(({ id }) => id).toReversed();
}

it("decides about a bounded number of due deliveries at once, in order of due time [DLV-19]", async () => {
  const clock = new VirtualClock();
  const shared = openReferenceStore({ clock });
  const sizes: number[] = [];
  let [deciding, most] = [0, 0];
  const listDue: Store["listDue"] = async (operation) => {
    const listed = await shared.listDue(operation);
    sizes.push(listed.due.length);
    return listed;
  };
  const moveDeliveries: Store["moveDeliveries"] = async (operation) => {
    most = Math.max(most, ++deciding);
    await new Promise(setImmediate); // As long as a real store takes, others could start.
    return shared.moveDeliveries(operation).finally(() => deciding--);
  };
  const watched = new Proxy(shared, {
    get(target, name: keyof Store) {
      if (name === "listDue") return listDue;
      if (name === "moveDeliveries") return moveDeliveries;
      const value = target[name];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const hub = new LocalHub(watched, { clock });
  onTestFinished(() => hub.close());
  const expected = await sendInReverse(hub);
  clock.advance(10_000);
  await hub.deliveries.runDue();
  const events = await shared.readEvents("default", 0, 10 * DUE);
  const passed = events.filter(({ kind }) => kind === "deadline_passed");
  expect(passed.map(({ delivery }) => delivery)).toEqual(expected);
  expect(Math.max(...sizes)).toBe(MOST_AT_ONCE);
  expect(most).toBeLessThanOrEqual(MOST_AT_ONCE);
});

describe.each(EMBEDDED_STORES)("deliveries that fall due together on %s", (store) => {
  it("are decided about in order of due time, however long each decision reads [DLV-19]", async () => {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock });
    const expected = await sendInReverse(hub);
    clock.advance(10_000);
    await hub.deliveries.runDue();
    const { items } = await hub.events.list({ after: DUE, limit: 3 * DUE });
    const passed = items.filter(({ kind }) => kind === "deadline_passed");
    expect(passed.map(({ delivery }) => delivery)).toEqual(expected);
  });
});
