/**
 * Streams over HTTP: events that resume where the reader stopped, and an inbox that wakes a reader.
 */
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { httpHub } from "../../src/http/app.ts";
import { LocalHub } from "../../src/hub/hub.ts";
import { openReferenceStore } from "../../store-contract/reference/open.ts";
import { freshAddress, open, tempFolder } from "../support/hub/support.ts";
import { readEvents, take } from "./events.ts";
import { as, HERE, listened, posting } from "./support.ts";

const numbers = async (hub: LocalHub): Promise<string[]> =>
  (await hub.events.list({ after: 0, limit: 1_000 })).items.map(({ number }) => String(number));

let sent = 0;

async function handOver(hub: Pick<LocalHub, "agent">, count: number): Promise<void> {
  const ada = await hub.agent("ada", { role: "planner" });
  for (let n = 0; n < count; n++) {
    await ada.handoff({ to: "bob", task: `task-${sent++}`, intent: "Do it." });
  }
}

describe("the event stream", () => {
  it("resumes after a restart without a missing or repeated event [DLV-13 OPS-7]", async () => {
    const address = `sqlite:${join(tempFolder(), "hub.db")}`;
    const first = await listened(address);
    await first.hub.agent("bob", { role: "executor" });
    await handOver(first.hub, 5);
    const before = readEvents(await fetch(`${first.listening.address}/v1/events/stream`));
    const events = await take(before, 3); // Does not read all of them.
    await before.return();
    await first.listening.close();

    const meanwhile = await open(address); // Another process writes while no hub is served.
    await handOver(meanwhile, 3);
    await meanwhile.close();

    const second = await listened(address);
    const headers = { "last-event-id": events.at(-1)?.id ?? "" };
    const after = readEvents(
      await fetch(`${second.listening.address}/v1/events/stream`, { headers }),
    );
    await handOver(second.hub, 2);
    const all = await numbers(second.hub);
    events.push(...(await take(after, all.length - events.length)));
    expect(events.map(({ id }) => id)).toEqual(all);
    expect(events.map(({ event }) => event)).toEqual(
      (await second.hub.events.list({ after: 0, limit: 1_000 })).items.map(({ kind }) => kind),
    );
    await after.return();
  });

  it("resumes at any number, and ends without an error when the hub closes [OPS-7]", async () => {
    const { hub, listening } = await listened(freshAddress("sqlite"));
    await hub.agent("bob", { role: "executor" });
    await handOver(hub, 4);
    const all = await numbers(hub);
    const from = readEvents(await fetch(`${listening.address}/v1/events/stream?after=${all[1]}`));
    expect((await take(from, all.length - 2)).map(({ id }) => id)).toEqual(all.slice(2));
    const ended = from.next();
    await listening.close();
    expect(await ended).toEqual({ value: undefined, done: true });
  });

  it.each(["-1", "x", "1.5", "1e999"])("refuses to resume at %j", async (id) => {
    const { listening } = await listened(freshAddress("memory"));
    const headers = { "last-event-id": id };
    const response = await fetch(`${listening.address}/v1/events/stream`, { headers });
    expect(response.status).toBe(400);
  });
});

describe("an inbox over HTTP", () => {
  it("streams waiting handoffs, then each new one, without claiming any [DLV-13]", async () => {
    const { hub, listening } = await listened(freshAddress("sqlite"));
    const bob = await hub.agent("bob", { role: "executor" });
    await handOver(hub, 1);
    const inbox = readEvents(
      await fetch(`${listening.address}/v1/inbox/stream`, { headers: as("bob") }),
    );
    const [waiting] = await take(inbox, 1);
    const arrives = take(inbox, 2);
    await handOver(hub, 2);
    const deliveries = [waiting, ...(await arrives)].map((each) => each?.id);
    const known = (await bob.deliveries.waiting()).items;
    expect(deliveries).toEqual(known.map(({ delivery }) => delivery.id));
    expect(known.map(({ delivery }) => delivery.state)).toEqual(["ready", "ready", "ready"]);
    await inbox.return();
  });

  it("wakes a long poll as soon as a handoff arrives [DLV-13]", async () => {
    const { hub, listening } = await listened(freshAddress("sqlite"));
    await hub.agent("bob", { role: "executor" });
    const polling = fetch(`${listening.address}/v1/inbox/claim`, {
      method: "POST",
      headers: { ...as("bob"), "content-type": "application/json" },
      body: JSON.stringify({ waitMs: 20_000 }),
    });
    await handOver(hub, 1);
    const { offer } = (await (await polling).json()) as { offer: { envelope: { intent: string } } };
    expect(offer.envelope.intent).toBe("Do it.");
  });

  it("releases the claim of a disconnected caller, and counts no attempt [DLV-13]", async () => {
    const gone = new AbortController();
    const store = openReferenceStore({ clock: systemClock });
    const claim = store.claimDeliveries.bind(store);
    const claimed: string[] = [];
    store.claimDeliveries = async (operation) => {
      const outcome = await claim(operation);
      claimed.push(outcome.kind);
      gone.abort(); // Disconnects before the offer arrives.
      return outcome;
    };
    const hub = new LocalHub(store);
    const http = httpHub(hub, { open: "coordinator" });
    onTestFinished(async () => {
      http.close();
      await hub.close();
    });
    const bob = await hub.agent("bob", { role: "executor" });
    await handOver(hub, 1);
    const left = async () =>
      (await bob.deliveries.waiting()).items.map(
        ({ delivery: { state, attempt, maxAttempts } }) => ({
          state,
          attempts: maxAttempts - attempt,
        }),
      );
    const before = await left();
    const { signal } = gone;
    const init = { ...posting({ waitMs: 20_000 }, as("bob")), signal };
    const answer = await http.fetch(new Request(`${HERE}/v1/inbox/claim`, init));
    expect(claimed).toEqual(["claimed"]);
    expect(await answer.json()).toEqual({ offer: null });
    expect(await left()).toEqual(before);
    expect(before).toMatchObject([{ state: "ready" }]);
  });
});
