/** Shutdown of a hub process: it answers calls in progress, ends waiting ones, and exits with 0. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { open, tempFolder } from "../support/hub/support.ts";
import { startHub } from "../support/start-hub.ts";
import { until } from "../support/until.ts";
import { readEvents, take } from "./events.ts";
import { as, posting } from "./support.ts";

interface Sent {
  readonly deliveries: readonly { readonly id: string }[];
}

describe("a hub that receives SIGTERM", { timeout: 120_000 }, () => {
  it("ends waiting calls, keeps what it acknowledged and exits with 0 [OPS-7]", async () => {
    const store = `sqlite:${join(tempFolder(), "hub.db")}`;
    const seed = await open(store);
    for (const name of ["ada", "bob", "cleo"]) await seed.agent(name, { role: "executor" });
    await seed.close();
    await using hub = await startHub(store);
    const { child, address, headers } = hub;
    const call = (path: string, body: unknown, agent: string) =>
      fetch(`${address}${path}`, posting(body, { ...headers, ...as(agent) }));

    const events = readEvents(await fetch(`${address}/v1/events/stream`, { headers }));
    const polls = [
      call("/v1/inbox/claim", { waitMs: 25_000 }, "cleo"),
      call("/v1/inbox/accept", { waitMs: 25_000 }, "cleo"),
    ];
    const draft = (task: string) => ({ draft: { to: "bob", task, intent: "Do it." } });
    const first = await call("/v1/handoffs", draft("first"), "ada");
    expect(first.status).toBe(200);
    await take(events, 1);
    const held = (await (await call("/v1/inbox/accept", {}, "bob")).json()) as {
      work: { delivery: { id: string } };
    };

    await until("both polls wait at the hub", async () => {
      const metrics = await (await fetch(`${address}/metrics`, { headers })).text();
      return metrics.includes("baton_http_requests_under_way 3\n"); // Includes this one.
    });
    const under = Array.from({ length: 50 }, (_, n) =>
      call("/v1/handoffs", draft(`task-${n}`), "ada").then(
        async (response) =>
          response.status === 200 ? ((await response.json()) as Sent) : undefined,
        () => undefined, // Refused during shutdown; never acknowledged.
      ),
    );
    child.signal("SIGTERM");
    const sent = (await Promise.all(under)).filter((each) => each !== undefined);
    const answers = await Promise.all(polls.map(async (poll) => (await poll).json()));
    expect(answers).toEqual([{ offer: null }, { work: null }]);
    for await (const _ of events); // Ends with the hub.
    expect(await child.ended).toMatchObject({ code: 0, signal: null, stderr: "" });

    const after = await open(store);
    const stored = (await after.events.list({ after: 0, limit: 1_000 })).items.map(
      ({ delivery }) => delivery,
    );
    for (const { deliveries } of sent) expect(stored).toContain(deliveries[0]?.id);
    // The lease belongs to the session, not to the process, and continues on the next hub.
    expect((await after.deliveries.get(held.work.delivery.id)).delivery.state).toBe("accepted");
    expect((await after.deliveries.totals()).byState.claimed).toBe(0);
    expect((await after.verify()).problems).toEqual([]);
  });
});
